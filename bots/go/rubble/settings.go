package rubble

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
)

// Settings are the address of the arena, the bot's key and the certificates to trust.
type Settings struct {
	// Address is host:port of the arena.
	Address string
	// Key is what the operator issued for this bot.
	Key string
	// CA is a file of certificates to trust, or "system" for those of the machine; empty means no TLS.
	CA string
}

// SettingError is a setting that is missing or cannot be used.
type SettingError struct{ problem string }

func (e *SettingError) Error() string { return e.problem }

// FromEnv reads RUBBLE_ADDRESS, RUBBLE_BOT_KEY and RUBBLE_CA.
func FromEnv() (Settings, error) {
	s := Settings{Address: os.Getenv("RUBBLE_ADDRESS"), Key: os.Getenv("RUBBLE_BOT_KEY"), CA: os.Getenv("RUBBLE_CA")}
	if s.Address == "" {
		return s, &SettingError{"RUBBLE_ADDRESS is missing: host:port of the arena"}
	}
	if s.Key == "" {
		return s, &SettingError{"RUBBLE_BOT_KEY is missing: the key the operator issued for this bot"}
	}
	return s, nil
}

// Dial opens a new connection to the arena, perhaps to another copy of it.
func (s Settings) Dial() (*grpc.ClientConn, error) {
	trust, err := s.credentials()
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(
		s.Address,
		grpc.WithTransportCredentials(trust),
		// Notice a dead connection while waiting for a turn.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 20 * time.Second}),
	)
	if err != nil {
		return nil, &SettingError{fmt.Sprintf("RUBBLE_ADDRESS: %q cannot be used (%v)", s.Address, err)}
	}
	return conn, nil
}

func (s Settings) credentials() (credentials.TransportCredentials, error) {
	switch s.CA {
	case "":
		return insecure.NewCredentials(), nil
	case "system":
		return credentials.NewTLS(&tls.Config{}), nil
	}
	pem, err := os.ReadFile(s.CA)
	if err != nil {
		var because *fs.PathError
		if errors.As(err, &because) {
			err = because.Err
		}
		return nil, &SettingError{fmt.Sprintf("RUBBLE_CA: %s cannot be read (%v)", s.CA, err)}
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, &SettingError{fmt.Sprintf("RUBBLE_CA: %s holds no certificate in PEM form", s.CA)}
	}
	return credentials.NewTLS(&tls.Config{RootCAs: roots}), nil
}

// Signed returns a context in which calls outside the stream, such as those of SimulationService, are made as this bot.
func (s Settings) Signed(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+s.Key)
}
