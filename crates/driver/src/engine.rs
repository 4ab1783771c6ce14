//! The engine and the image of the level `container`, as this machine has them.

use std::path::PathBuf;
use std::time::Duration;

use windlass_core::policy::{SandboxPolicy, WantedEngine};
use windlass_process::{Client, ClientError, Engine, Image};

use crate::surroundings::Surroundings;

/// For an engine to answer; one that was just started takes its time.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a client reads of the operator's environment: where its engine is, and how it is let in.
const OF_CLIENTS: [&str; 13] = [
    "HOME",
    "USER",
    "PATH",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "DOCKER_TLS_VERIFY",
    "DOCKER_CERT_PATH",
    "CONTAINER_HOST",
];

/// An image that can be used.
pub struct UsableImage {
    pub image: Image,
    /// The engine, its version and the image.
    pub words: String,
}

#[derive(Debug, thiserror::Error)]
pub enum NoEngine {
    #[error("sandbox.image is not set")]
    Unnamed,
    #[error("{} is not in PATH", .wanted.join(" or "))]
    NoClient { wanted: Vec<&'static str> },
    #[error("{}", .said.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Silent { said: Vec<ClientError> },
    #[error(transparent)]
    NoImage(ClientError),
}

impl NoEngine {
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Unnamed => vec![
                "set sandbox.image in windlass.toml to an image that has what your agents and checks need".to_owned(),
            ],
            Self::NoClient { wanted } => vec![format!(
                "install {}, or use a level of windlass's own: sandbox.level = \"auto\"",
                wanted.join(" or ")
            )],
            Self::Silent { .. } => vec![
                "start the engine (docker: `sudo systemctl start docker`, and be in its group; podman: `podman info` \
                 must work as this user)"
                    .to_owned(),
                "or use a level of windlass's own: sandbox.level = \"auto\"".to_owned(),
            ],
            Self::NoImage(ClientError::NoImage { engine, image, .. }) => {
                vec![format!("{engine} pull {image}, or build it: nothing is pulled while a loop runs")]
            }
            Self::NoImage(_) => vec!["set sandbox.image to an image that the engine has".to_owned()],
        }
    }
}

/// The first engine that answers, and the image it has.
pub fn find(policy: &SandboxPolicy, surroundings: &Surroundings) -> Result<UsableImage, NoEngine> {
    if policy.image.is_empty() {
        return Err(NoEngine::Unnamed);
    }
    let wanted = match policy.engine {
        WantedEngine::Auto => vec![Engine::Docker, Engine::Podman],
        WantedEngine::Docker => vec![Engine::Docker],
        WantedEngine::Podman => vec![Engine::Podman],
    };
    let clients: Vec<Client> = wanted.iter().filter_map(|engine| client(*engine, surroundings)).collect();
    if clients.is_empty() {
        return Err(NoEngine::NoClient { wanted: wanted.iter().map(|engine| engine.name()).collect() });
    }
    let mut said = Vec::new();
    for client in clients {
        match client.probe(PATIENCE) {
            Ok(version) => return with_image(client, &version, &policy.image),
            Err(error) => said.push(error),
        }
    }
    Err(NoEngine::Silent { said })
}

fn with_image(client: Client, version: &str, image: &str) -> Result<UsableImage, NoEngine> {
    let id = client.image(image, PATIENCE).map_err(NoEngine::NoImage)?;
    let words = format!("{} {version}, image {image} ({id})", client.engine.name());
    Ok(UsableImage { image: Image { client, id }, words })
}

/// Looked for where no agent can put a program.
fn client(engine: Engine, surroundings: &Surroundings) -> Option<Client> {
    let path = surroundings.clean_path();
    let places = std::env::split_paths(&path).map(|dir| dir.join(engine.name()));
    let program: PathBuf = places.into_iter().find(|place| is_program(place))?;
    let mut env: Vec<_> = OF_CLIENTS
        .iter()
        .filter(|name| **name != "PATH")
        .filter_map(|name| Some(((*name).into(), surroundings.var(name)?.to_owned())))
        .collect();
    env.push(("PATH".into(), path));
    Some(Client { engine, program, env })
}

fn is_program(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
