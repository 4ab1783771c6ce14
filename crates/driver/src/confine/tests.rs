use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use windlass_core::policy::ResourcePolicy;
use windlass_process::{
    Client, Container, ContainerError, Engine, Program, ProgramLimits, container_command_line,
};

use super::*;

fn surroundings() -> Surroundings {
    let vars =
        [("HOME", "/home/ada"), ("PATH", "/usr/bin"), ("CARGO_HOME", "/usr"), ("LANG", "C"), ("KEY", "k")];
    let vars = vars.map(|(name, value)| (name.into(), value.into())).into();
    Surroundings { vars, project: "/home/ada/project".into(), state: "/state".into() }
}

fn confine(policy: &SandboxPolicy) -> Confine {
    let client = Client { engine: Engine::Docker, program: "/usr/bin/docker".into(), env: Vec::new() };
    let image = Some(Image { client, id: "sha256:ab12".to_owned() });
    let proven = ProvenSandbox { level: SandboxLevel::Container, ..ProvenSandbox::default() };
    Confine::new(&SandboxChoice { proven, image }, policy, &surroundings())
}

/// What the engine is asked for, from its network to its working directory.
fn asked(
    confine: &Confine,
    network: NetworkPolicy,
    private: &PrivateDirs,
) -> Result<Vec<String>, ContainerError> {
    let confinement = confine.confinement(&network, private, Inspection::Refused);
    let program = Program {
        argv: vec!["sh".into()],
        cwd: "/state/space".into(),
        env: Vec::new(),
        stdin: Vec::new(),
        limits: ProgramLimits { resources: confine.resources, ..ProgramLimits::none(1) },
        dir: "/state/attempts/author".into(),
        marker: "m".to_owned(),
        confinement: confinement.clone(),
    };
    let line = container_command_line(&Container {
        engine: Engine::Docker,
        image: "sha256:ab12",
        name: "n",
        user: (1000, 1000),
        program: &program,
        reach: &confinement.reach,
        network: confinement.network.meant(),
    })?;
    let words = line.argv.iter().map(|word| word.to_string_lossy().into_owned());
    let kept = ["--network", "--memory", "--pids", "--ulimit", "--mount", "--workdir"];
    Ok(words.filter(|word| kept.iter().any(|flag| word.starts_with(flag))).collect())
}

fn private(read: &[&str], write: &[&str]) -> PrivateDirs {
    let all = |paths: &[&str]| paths.iter().map(PathBuf::from).collect();
    PrivateDirs { read: all(read), write: all(write), ..PrivateDirs::at("/state/own".into()) }
}

fn unlimited() -> SandboxPolicy {
    SandboxPolicy { resources: ResourcePolicy::default(), ..SandboxPolicy::default() }
}

fn network(kind: NetworkKind) -> NetworkPolicy {
    NetworkPolicy { kind, allow: Vec::new() }
}

#[test]
fn an_author_may_change_its_workspace_within_its_limits() {
    let resources = ResourcePolicy {
        memory_bytes: 1 << 30,
        processes: 100,
        open_files: 1024,
        file_bytes: 1 << 20,
        workspace_bytes: 1,
        ..ResourcePolicy::default()
    };
    let policy =
        SandboxPolicy { resources, extra_read: vec!["~/models".to_owned()], ..SandboxPolicy::default() };
    // A program of this machine is left out: an image has its own.
    let private = private(&["/usr/bin/env", "/home/ada/agent.sh"], &["/state/report", "/state/space"]);
    assert_eq!(
        asked(&confine(&policy), network(NetworkKind::Open), &private).unwrap(),
        [
            "--ulimit=core=0:0",
            "--memory=1073741824",
            "--memory-swap=1073741824",
            "--pids-limit=101",
            "--ulimit=nofile=1024:1024",
            "--ulimit=fsize=1048576:1048576",
            "--mount=type=bind,source=/home/ada/agent.sh,target=/home/ada/agent.sh,readonly",
            "--mount=type=bind,source=/home/ada/models,target=/home/ada/models,readonly",
            "--mount=type=bind,source=/state/own/home,target=/state/own/home",
            "--mount=type=bind,source=/state/own/scratch,target=/state/own/scratch",
            "--mount=type=bind,source=/state/report,target=/state/report",
            "--mount=type=bind,source=/state/space,target=/state/space",
            "--workdir=/state/space",
        ]
    );
}

#[test]
fn a_reviewer_may_only_read_it() {
    let private = private(&["/state/space"], &["/state/report"]);
    assert_eq!(
        asked(&confine(&unlimited()), network(NetworkKind::None), &private).unwrap(),
        [
            "--network=none",
            "--ulimit=core=0:0",
            "--mount=type=bind,source=/state/own/home,target=/state/own/home",
            "--mount=type=bind,source=/state/own/scratch,target=/state/own/scratch",
            "--mount=type=bind,source=/state/report,target=/state/report",
            "--mount=type=bind,source=/state/space,target=/state/space,readonly",
            "--workdir=/state/space",
        ]
    );
}

#[test]
fn a_gate_has_its_checkout_and_no_layer() {
    let confine = confine(&unlimited());
    assert!(!confine.may_have_tree());
    let private = private(&[], &["/state/checkout/clean"]);
    assert_eq!(
        asked(&confine, network(NetworkKind::Loopback), &private).unwrap(),
        [
            "--network=none",
            "--ulimit=core=0:0",
            "--mount=type=bind,source=/state/checkout/clean,target=/state/checkout/clean",
            "--mount=type=bind,source=/state/own/home,target=/state/own/home",
            "--mount=type=bind,source=/state/own/scratch,target=/state/own/scratch",
            "--workdir=/state/space",
        ]
    );
}

#[test]
fn a_list_of_hosts_is_refused() {
    let allow = NetworkPolicy { kind: NetworkKind::Open, allow: vec!["a.org:443".to_owned()] };
    let refused = asked(&confine(&unlimited()), allow, &private(&[], &[]));
    assert_eq!(refused, Err(ContainerError::AllowList));
}

#[test]
fn nothing_that_leads_to_a_place_of_the_host_is_lent_to_an_image() {
    let policy = SandboxPolicy { env: vec!["KEY".to_owned()], ..SandboxPolicy::default() };
    let lent = confine(&policy).environment(
        &surroundings(),
        &ProgramAccess { variables: &[], network: &network(NetworkKind::Open), private: &private(&[], &[]) },
    );
    let lent: Vec<_> = lent.iter().map(|(name, value)| (name.to_str(), Path::new(value))).collect();
    assert_eq!(
        lent,
        [
            (Some("KEY"), Path::new("k")),
            (Some("LANG"), Path::new("C")),
            (Some("HOME"), Path::new("/state/own/home")),
            (Some("TMPDIR"), Path::new("/state/own/scratch")),
        ]
    );
}

#[test]
fn a_place_of_a_tool_that_programs_cannot_reach_is_not_named_to_them() {
    let root = tempfile::tempdir().unwrap();
    let [home, cargo, cache, lent] = ["home", "cargo", "cache", "lent"].map(|name| root.path().join(name));
    for dir in [&cargo, &cache, &lent] {
        fs::create_dir(dir).unwrap();
    }
    let places = [
        ("HOME", &home),
        ("GOPATH", &home.join("go")),
        ("CARGO_HOME", &cargo),
        ("GOCACHE", &cache),
        ("GOMODCACHE", &lent),
        ("DENO_DIR", &home.join("asked for")),
    ];
    let vars = places.map(|(name, dir)| (name.into(), dir.into())).into();
    let surroundings = Surroundings { vars, project: home.join("project"), state: "/state".into() };
    let policy = SandboxPolicy {
        env: vec!["DENO_DIR".to_owned()],
        extra_read: vec![lent.display().to_string()],
        ..SandboxPolicy::default()
    };
    let proven = ProvenSandbox { level: SandboxLevel::Landlock, ..ProvenSandbox::default() };
    let confine = Confine::new(&SandboxChoice { proven, image: None }, &policy, &surroundings);
    let private = private(&[], &[]);
    let access = ProgramAccess { variables: &[], network: &network(NetworkKind::Open), private: &private };
    let env = confine.environment(&surroundings, &access);
    let seen: Vec<_> = places
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| env.iter().any(|(known, _)| known == name))
        .collect();
    assert_eq!(seen, ["HOME", "CARGO_HOME", "GOMODCACHE", "DENO_DIR"]);
}

#[test]
fn what_an_agent_did_to_its_directories_does_not_last() {
    let deeds: [fn(&Path); 6] = [
        |home| fs::write(home.join("planted"), "x").unwrap(),
        |home| fs::set_permissions(home, fs::Permissions::from_mode(0o000)).unwrap(),
        |home| fs::File::open(home).unwrap().set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap(),
        |home| fs::create_dir_all(home.join("deep/below")).unwrap(),
        |home| fs::write(home.parent().unwrap().join("seeded"), "x").unwrap(),
        |home| {
            fs::remove_dir(home).unwrap();
            fs::write(home, "no directory").unwrap();
        },
    ];
    for (nth, deed) in deeds.into_iter().enumerate() {
        let root = tempfile::tempdir().unwrap();
        let private = PrivateDirs::empty(root.path().join("own")).unwrap();
        deed(&private.home());
        let private = PrivateDirs::empty(root.path().join("own")).unwrap();
        assert_eq!(fs::read_dir(private.home()).unwrap().count(), 0, "deed {nth}");
        assert_eq!(fs::read_dir(root.path().join("own")).unwrap().count(), 2, "deed {nth}");
        let found = fs::metadata(private.home()).unwrap();
        assert_eq!(found.permissions().mode() & 0o777, 0o700, "deed {nth}");
        assert!(found.modified().unwrap() > std::time::SystemTime::UNIX_EPOCH, "deed {nth}");
    }
}

#[test]
fn a_link_in_the_place_of_a_directory_is_replaced_and_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let victim = root.path().join("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("kept"), "x").unwrap();
    let private = PrivateDirs::empty(root.path().join("own")).unwrap();
    for place in [private.home(), private.scratch()] {
        fs::remove_dir(&place).unwrap();
        symlink(&victim, &place).unwrap();
    }
    let kept = PrivateDirs::with_kept_home(root.path().join("own")).unwrap();
    assert!(fs::symlink_metadata(kept.scratch()).unwrap().is_dir());
    let private = PrivateDirs::empty(root.path().join("own")).unwrap();
    assert!(fs::symlink_metadata(private.home()).unwrap().is_dir());
    fs::remove_dir_all(root.path().join("own")).unwrap();
    symlink(&victim, root.path().join("own")).unwrap();
    let private = PrivateDirs::empty(root.path().join("own")).unwrap();
    assert!(fs::symlink_metadata(private.home().parent().unwrap()).unwrap().is_dir());
    assert!(victim.join("kept").exists());
}

#[test]
fn a_policy_that_says_nothing_shares_out_the_machine() {
    let memory = windlass_process::machine_memory().unwrap();
    let resources = confine(&SandboxPolicy::default()).resources;
    assert_eq!(resources.memory_bytes, memory / 4 * 3 + memory % 4 * 3 / 4);
    assert_eq!((resources.processes, resources.workspace_bytes), (4096, 20 << 30));
    let off = SandboxPolicy { resources: ResourcePolicy::default(), ..SandboxPolicy::default() };
    assert_eq!(confine(&off).resources, ResourcePolicy::default());
    let exactly = ResourcePolicy { memory_bytes: 5, memory_percent: 50, ..ResourcePolicy::default() };
    assert_eq!(exactly.on_machine(1000).memory_bytes, 5);
}

#[test]
fn what_a_program_writes_beside_its_workspace_is_counted() {
    let confinement = confine(&SandboxPolicy::default()).confinement(
        &network(NetworkKind::Open),
        &private(&[], &["/state/report", "/state/space"]),
        Inspection::Allowed,
    );
    let own = ["/state/own/home", "/state/own/scratch", "/state/own/packages"];
    let counted = ["/state/report", "/state/space"].into_iter().chain(own).map(PathBuf::from);
    let counted: Vec<PathBuf> = counted.collect();
    assert_eq!(confinement.counted, counted);
}
