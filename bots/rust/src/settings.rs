//! The address of the arena, the bot's key and the certificates to trust.

use std::time::Duration;
use std::{env, fmt, fs};

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

use crate::BotError;

/// The address of the arena, the bot's key and the certificates to trust.
#[derive(Clone)]
pub struct Settings {
    /// host:port of the arena.
    pub address: String,
    /// The key the operator issued for this bot.
    pub key: String,
    /// A file of certificates to trust, or "system" for those of the machine; empty: no TLS.
    pub ca: String,
}

impl fmt::Debug for Settings {
    /// Leaves out the key, which is a secret.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "Settings {{ address: {:?}, ca: {:?} }}", self.address, self.ca)
    }
}

impl Settings {
    /// RUBBLE_ADDRESS, RUBBLE_BOT_KEY and RUBBLE_CA.
    pub fn from_env() -> Result<Self, BotError> {
        Ok(Settings {
            address: required("RUBBLE_ADDRESS", "host:port of the arena")?,
            key: required("RUBBLE_BOT_KEY", "the key the operator issued for this bot")?,
            ca: env::var("RUBBLE_CA").unwrap_or_default(),
        })
    }

    /// Returns the endpoint of the arena; each connection is new, perhaps to another copy of it.
    pub fn endpoint(&self) -> Result<Endpoint, BotError> {
        let scheme = if self.ca.is_empty() { "http" } else { "https" };
        let url = match self.address.strip_prefix("unix:") {
            Some(_) => self.address.clone(),
            None => format!("{scheme}://{}", self.address),
        };
        let unusable =
            |error| BotError::Setting(format!("RUBBLE_ADDRESS: {:?} cannot be used ({error})", self.address));
        let endpoint = Endpoint::from_shared(url)
            .map_err(unusable)?
            .connect_timeout(Duration::from_secs(20))
            // Notice a dead connection while waiting for a turn.
            .http2_keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(20));
        if self.ca.is_empty() {
            return Ok(endpoint);
        }
        endpoint.tls_config(self.trust()?).map_err(|error| {
            BotError::Setting(format!("RUBBLE_CA: {} holds no certificate that can be used ({error})", self.ca))
        })
    }

    fn trust(&self) -> Result<ClientTlsConfig, BotError> {
        if self.ca == "system" {
            return Ok(ClientTlsConfig::new().with_native_roots());
        }
        let pem = fs::read(&self.ca)
            .map_err(|error| BotError::Setting(format!("RUBBLE_CA: {} cannot be read ({error})", self.ca)))?;
        Ok(ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem)))
    }
}

fn required(name: &str, meaning: &str) -> Result<String, BotError> {
    match env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value),
        _ => Err(BotError::Setting(format!("{name} is missing: {meaning}"))),
    }
}
