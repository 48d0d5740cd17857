// Command protogen writes the Go code of the contract: it reads the protos and passes them to the versions of protoc-gen-go and
// protoc-gen-go-grpc in go.mod. No protoc is needed.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

var plugins = []string{"protoc-gen-go", "protoc-gen-go-grpc"}

func main() {
	protos := flag.String("protos", "protos", "the folder of the protos")
	out := flag.String("out", "gen", "the folder to write to")
	module := flag.String("module", "rubble-bot/gen", "the import path of that folder")
	flag.Parse()
	if err := generate(*protos, *out, *module); err != nil {
		fmt.Fprintln(os.Stderr, "protogen:", err)
		os.Exit(1)
	}
}

func generate(protos, out, module string) error {
	names, err := protoFiles(protos)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: no .proto file there", protos)
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{protos}}),
		SourceInfoMode: protocompile.SourceInfoStandard, // copies comments into the code
	}
	files, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: names, Parameter: proto.String(parameter(names, module))}
	seen := map[string]bool{}
	for _, file := range files {
		request.ProtoFile = withImports(file, seen, request.ProtoFile)
	}
	for _, plugin := range plugins {
		if err := run(plugin, request, out); err != nil {
			return fmt.Errorf("%s: %w", plugin, err)
		}
	}
	return nil
}

// protoFiles names every proto below the folder, as imports name it.
func protoFiles(folder string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(file) != ".proto" {
			return err
		}
		name, err := filepath.Rel(folder, file)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	return names, err
}

// parameter gives the plugins the import path of each file, since the protos have no Go options.
func parameter(names []string, module string) string {
	words := []string{"paths=source_relative"}
	for _, name := range names {
		words = append(words, fmt.Sprintf("M%s=%s", name, path.Join(module, path.Dir(name))+";rubblev1"))
	}
	return strings.Join(words, ",")
}

// withImports appends a file after everything it imports, each once.
func withImports(
	file protoreflect.FileDescriptor, seen map[string]bool, sofar []*descriptorpb.FileDescriptorProto,
) []*descriptorpb.FileDescriptorProto {
	if seen[file.Path()] {
		return sofar
	}
	seen[file.Path()] = true
	for i := range file.Imports().Len() {
		sofar = withImports(file.Imports().Get(i).FileDescriptor, seen, sofar)
	}
	return append(sofar, protoutil.ProtoFromFileDescriptor(file))
}

func run(plugin string, request *pluginpb.CodeGeneratorRequest, out string) error {
	input, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	command := exec.Command("go", "tool", plugin)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	output, err := command.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(output, &response); err != nil {
		return err
	}
	if response.GetError() != "" {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, file := range response.File {
		target := filepath.Join(out, filepath.FromSlash(file.GetName()))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, []byte(file.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
