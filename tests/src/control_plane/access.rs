//! Who may speak to the API server: users with tokens, keys of service accounts, and files that
//! hold what a client needs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

/// A user the API server knows by a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// May do everything.
    Admin,
    /// May do what every authenticated user may, which is next to nothing; tests give it more.
    Somebody,
}

impl User {
    const ALL: [Self; 2] = [Self::Admin, Self::Somebody];

    /// The name in role bindings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Somebody => "somebody",
        }
    }

    fn group(self) -> &'static str {
        match self {
            Self::Admin => "system:masters",
            Self::Somebody => "users",
        }
    }
}

/// Folder below which the API server keeps the certificate it makes for itself.
pub(super) const CERTIFICATES: &str = "certificates";

/// Files of a control plane that tell who is who.
#[derive(Debug)]
pub(super) struct Access {
    folder: PathBuf,
    /// Users, as the API server reads them.
    pub(super) tokens: PathBuf,
    /// Signs tokens of service accounts.
    pub(super) signing_key: PathBuf,
    /// Checks them.
    pub(super) public_key: PathBuf,
    secret: String,
}

impl Access {
    /// Makes tokens and keys, new ones for each control plane.
    pub(super) fn create(folder: &Path) -> io::Result<Self> {
        let random = SystemRandom::new();
        let mut bytes = [0_u8; 16];
        random.fill(&mut bytes).expect("random bytes are to be had");
        let secret = format!("{:032x}", u128::from_ne_bytes(bytes));
        let tokens = folder.join("tokens.csv");
        let lines = User::ALL.map(|user| {
            let (name, group) = (user.name(), user.group());
            format!("{},{name},{name},\"{group}\"\n", token(user, &secret))
        });
        fs::write(&tokens, lines.concat())?;
        let (signing_key, public_key) = service_account_keys(folder, &random)?;
        Ok(Self { folder: folder.to_owned(), tokens, signing_key, public_key, secret })
    }

    /// A file with everything a client of that user needs, as `--kubeconfig` takes it.
    pub(super) fn kubeconfig(&self, user: User, port: u16) -> io::Result<PathBuf> {
        self.kubeconfig_of(user.name(), &token(user, &self.secret), port)
    }

    /// The same for whoever has that token.
    pub(super) fn kubeconfig_of(&self, name: &str, token: &str, port: u16) -> io::Result<PathBuf> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let certificate = self.folder.join(CERTIFICATES).join("apiserver.crt");
        let server = format!("https://127.0.0.1:{port}");
        let text = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "test",
                "cluster": {"server": server, "certificate-authority": certificate},
            }],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            "current-context": "test",
        });
        let path = self.folder.join(format!("{}-{port}.kubeconfig", name.replace(':', "-")));
        // Tests that run side by side write the same file while others read it.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let partial = path.with_extension(number.to_string());
        fs::write(&partial, text.to_string())?;
        fs::rename(&partial, &path)?;
        Ok(path)
    }
}

/// What stands before the point of a P-256 key to make it a public key file: the sequence that
/// names the algorithm and the curve, and the head of the bit string.
const PUBLIC_KEY_HEAD: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Files with a new key that signs tokens, and with the key that checks them.
fn service_account_keys(folder: &Path, random: &SystemRandom) -> io::Result<(PathBuf, PathBuf)> {
    let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let private = EcdsaKeyPair::generate_pkcs8(kind, random).expect("random bytes are to be had");
    let pair = EcdsaKeyPair::from_pkcs8(kind, private.as_ref(), random);
    let pair = pair.expect("the key was made a moment ago");
    let public = [&PUBLIC_KEY_HEAD, pair.public_key().as_ref()].concat();
    let write = |name: &str, tag: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, pem::encode(&pem::Pem::new(tag, bytes))).map(|()| path)
    };
    Ok((
        write("service-accounts.key", "PRIVATE KEY", private.as_ref())?,
        write("service-accounts.pub", "PUBLIC KEY", &public)?,
    ))
}

fn token(user: User, secret: &str) -> String {
    format!("{}-{secret}", user.name())
}

/// What a client reads from such a file.
pub(super) async fn config(path: &Path) -> Config {
    try_config(path).await.expect("the file has all a client needs")
}

/// The same; `None` while the certificate it names is not there.
pub(super) async fn try_config(path: &Path) -> Option<Config> {
    let file = Kubeconfig::read_from(path).expect("the file was written here");
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.ok()
}

/// A client.
pub(super) fn client(config: Config) -> Client {
    Client::try_from(config).expect("the configuration was made for a client")
}

/// Does the API server say that it is ready?
pub(super) async fn is_ready(config: Config) -> bool {
    let request = http::Request::get("/readyz").body(Vec::new()).expect("a path is a request");
    client(config).request_text(request).await.is_ok()
}

/// A token of a service account, good for an hour.
pub(super) async fn service_account_token(
    client: Client,
    namespace: &str,
    name: &str,
) -> kube::Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client, namespace);
    let spec = TokenRequestSpec { expiration_seconds: Some(3600), ..Default::default() };
    let request = TokenRequest { spec: Some(spec), ..Default::default() };
    let answer = accounts.create_token_request(name, &PostParams::default(), &request).await?;
    Ok(answer.status.and_then(|status| status.token).unwrap_or_default())
}
