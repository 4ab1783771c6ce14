//! What a program can and cannot do at a level, whoever starts it.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use windlass_core::policy::SandboxLevel::{self, Landlock, Namespaces};
use windlass_testkit::capability;

use crate::confined::{Ground, on_each};
use crate::stage::{carriers, eventually};

const BOTH: [SandboxLevel; 2] = [Landlock, Namespaces];

#[test]
fn a_program_reaches_what_was_named_and_nothing_else() {
    on_each(&BOTH, |mut ground| {
        for dir in ["shared", "shared/deep", "other", "scratch"] {
            ground.dir(dir);
        }
        for file in ["shared/file", "shared/deep/file", "other/file", "alone", "loose"] {
            ground.file(file, "text");
        }
        let (shared, alone, loose) = (ground.at("shared"), ground.at("alone"), ground.at("loose"));
        ground.set("read", &shared);
        ground.set("read", &alone);
        ground.set("read", ground.at("missing"));
        ground.set("write", &loose);
        ground.set("scratch", ground.at("scratch"));
        let root = ground.stage.path().display().to_string();
        let done = ground.try_each(&format!(
            "own file: echo x >made && mkdir d && mv made d/m && ln -s m d/l && rm -r d
             shared: cat {root}/shared/deep/file && ls {root}/shared
             single file: cat {root}/alone
             writable file: echo changed >{root}/loose
             scratch: touch {root}/scratch/x
             system: ls /usr && /usr/bin/env true && cat /etc/passwd
             null: echo x >/dev/null && head -c1 /dev/zero && head -c1 /dev/urandom
             own process: cat /proc/self/status
             other dir: ls {root}/other
             other file: cat {root}/other/file
             change shared: echo x >{root}/shared/file
             make in shared: touch {root}/shared/new
             remove in shared: rm -f {root}/shared/file
             change mode: test -w {root}/alone && echo x >{root}/alone
             truncate: : >{root}/other/file
             through a link: ln -s {root}/other/file link; cat link
             hard link: ln {root}/other/file hard && cat hard
             passwords: test -s /etc/shadow && cat /etc/shadow
             system file: touch /etc/new /usr/new
             home: ls /root /home
             attempt: ls {root}/attempts"
        ));
        let expected = [
            "own file",
            "shared",
            "single file",
            "writable file",
            "scratch",
            "system",
            "null",
            "own process",
        ];
        assert_eq!(done, expected, "{:?} {:?}", ground.who, ground.level);
        assert_eq!(std::fs::read_to_string(ground.at("other/file")).unwrap(), "text");
        assert_eq!(std::fs::read_to_string(ground.at("loose")).unwrap(), "changed\n");
        assert!(!ground.at("shared/new").exists() && ground.at("shared/file").exists());
    });
}

#[test]
fn what_is_hidden_in_a_readable_directory_cannot_be_read_and_its_neighbours_can() {
    on_each(&BOTH, |mut ground| {
        for dir in ["shared", "shared/a", "shared/a/hidden", "shared/a/hidden/open", "shared/b"] {
            ground.dir(dir);
        }
        for file in [
            "shared/a/hidden/secret",
            "shared/a/secret",
            "shared/a/file",
            "shared/b/file",
            "shared/a/hidden/open/file",
        ] {
            ground.file(file, "text");
        }
        std::os::unix::fs::symlink("hidden", ground.at("shared/a/link")).unwrap();
        ground.set("read", ground.at("shared"));
        ground.set("hide", ground.at("shared/a/link"));
        ground.set("hide", ground.at("shared/a/secret"));
        ground.set("hide", ground.at("shared/a/gone"));
        ground.set("read", ground.at("shared/a/hidden/open"));
        let root = ground.at("shared").display().to_string();
        let done = ground.try_each(&format!(
            "neighbours: cat {root}/a/file {root}/b/file
             shown inside the hidden: cat {root}/a/hidden/open/file
             hidden file: test -n \"$(cat {root}/a/secret)\"
             hidden directory: ls {root}/a/hidden | grep secret
             inside the hidden: cat {root}/a/hidden/secret
             by its link: cat {root}/a/link/secret
             write over it: echo x >{root}/a/secret || touch {root}/a/hidden/x"
        ));
        assert_eq!(done, ["neighbours", "shown inside the hidden"], "{:?} {:?}", ground.who, ground.level);
    });
}

#[test]
fn nothing_is_left_of_a_users_privileges() {
    on_each(&BOTH, |ground| {
        let ran = ground.run("cat /proc/self/status; ls /proc/self/fd; cut -d' ' -f1,5,6 /proc/$$/stat");
        for set in ["Inh", "Prm", "Eff", "Amb"] {
            assert!(ran.text.contains(&format!("Cap{set}:\t0000000000000000\n")), "{}", ran.text);
        }
        assert!(ran.text.contains("NoNewPrivs:\t1\n") && ran.text.contains("Seccomp:\t2\n"), "{}", ran.text);
        assert!(ran.text.contains("\n0\n1\n2\n"), "{}", ran.text);
        let ids: Vec<&str> = ran.text.lines().last().unwrap().split(' ').collect();
        assert!(ids.iter().all(|id| *id == ids[0]), "pid, group and session are one: {}", ran.text);
        let done = ground.try_each(
            "settings of the kernel: for f in core_pattern panic hostname; do cat /proc/sys/kernel/$f >/proc/sys/kernel/$f && exit 0; done; exit 1
             sysrq: test -e /proc/sysrq-trigger && : >>/proc/sysrq-trigger
             device: mknod device c 1 3
             mount: mount -t tmpfs none .
             remount: mount -o remount,rw,bind /usr
             namespace: unshare -U true || unshare -m true || unshare -n true
             another owner: touch f && chown 12345 f
             another user: setpriv --reuid=12345 --clear-groups true",
        );
        assert_eq!(done, [""; 0], "{:?} {:?}", ground.who, ground.level);
    });
}

#[test]
fn a_daemon_ends_with_its_program() {
    on_each(&BOTH, |ground| {
        let ran = ground.run("(trap '' TERM; setsid sleep 60 >/dev/null 2>&1 & ) ; exit 3");
        assert_eq!(ran.exit, "Code(3)", "and `run` has seen that nothing of it is alive");
    });
}

#[test]
fn nothing_lives_on_when_the_supervisor_is_killed() {
    on_each(&BOTH, |ground| {
        let script = "trap '' TERM; (trap '' TERM; setsid sleep 60) & touch started; sleep 60; :";
        let (mut supervisor, program) = ground.start(script);
        eventually("the program runs", || ground.at("work/started").exists());
        assert_ne!(carriers(&program.marker), Vec::<String>::new());
        supervisor.kill().unwrap();
        supervisor.wait().unwrap();
        eventually("all are dead", || carriers(&program.marker).is_empty());
    });
}

#[test]
fn the_network_is_the_hosts_or_none() {
    if capability::program("bash").is_none() {
        return;
    }
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let run = |ground: &Ground| ground.run_argv(&["bash", "-c", &connect]);
    on_each(&BOTH, |mut ground| {
        assert_eq!(run(&ground).exit, "Code(0)", "{:?} {:?}", ground.who, ground.level);
        ground.set("network", "none");
        let ran = run(&ground);
        assert_eq!(ran.exit, "Code(1)", "{:?} {:?}: {}", ground.who, ground.level, ran.text);
    });
    on_each(&[Namespaces], |mut ground| {
        ground.set("network", "loopback");
        let ran = run(&ground);
        assert!(ran.text.contains("Connection refused"), "a loopback of its own: {}", ran.text);
    });
}

#[test]
fn a_proxy_is_served_from_outside_of_the_programs_network() {
    if capability::program("bash").is_none() {
        return;
    }
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    on_each(&[Namespaces], |mut ground| {
        ground.set("network", "allow");
        let ask = |port: u16| {
            let request = r"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n";
            format!("exec 3<>/dev/tcp/127.0.0.1/{port} && printf '{request}' >&3 && head -n1 <&3")
        };
        let ran = ground.run_argv(&["bash", "-c", &ask(3128)]);
        assert_eq!(ran.text, "HTTP/1.1 403 Forbidden\r\n", "an empty list allows nothing: {:?}", ground.who);
        assert_eq!(ground.run_argv(&["bash", "-c", &ask(port)]).exit, "Code(1)", "{:?}", ground.who);
    });
}

#[test]
fn what_a_level_cannot_do_is_refused_before_anything_runs() {
    on_each(&[Landlock], |mut ground| {
        let refused = |ground: &Ground, word: &str| {
            let ran = ground.run("touch ran");
            assert!(ran.exit.starts_with("NotStarted") && ran.exit.contains(word), "{}", ran.exit);
            assert!(!ground.at("work/ran").exists());
        };
        ground.dir("work/kept");
        ground.set("hide", ground.at("work/kept"));
        refused(&ground, "takes no right back");

        let mut ground = Ground::new(ground.who, Landlock);
        ground.set("network", "loopback");
        refused(&ground, "loopback needs level namespaces");

        let mut ground = Ground::new(ground.who, Landlock);
        ground.set("network", "allow");
        refused(&ground, "allow needs level namespaces");

        let mut ground = Ground::new(ground.who, Landlock);
        for key in ["lower", "at", "upper"] {
            ground.set(key, ground.dir(key));
        }
        refused(&ground, "throwaway tree needs level namespaces");

        let mut ground = Ground::new(ground.who, Landlock);
        ground.set("containment", "namespace");
        refused(&ground, "no PID namespace");

        let mut ground = Ground::new(ground.who, Namespaces);
        ground.set("containment", "subreaper");
        refused(&ground, "needs a PID namespace");

        let mut ground = Ground::new(ground.who, Namespaces);
        ground.set("write", ground.at("missing"));
        refused(&ground, "missing");
    });
}

#[test]
fn unix_sockets_of_others_are_out_of_reach_even_with_the_hosts_network() {
    if capability::program("python3").is_none() {
        return;
    }
    let connect = |ground: &Ground, address: &str| {
        let script = format!("import socket; socket.socket(socket.AF_UNIX).connect({address})");
        ground.run_argv(&["python3", "-c", &script])
    };
    on_each(&[SandboxLevel::None, Landlock, Namespaces], |ground| {
        ground.dir("sockets");
        let path = ground.at("sockets/s");
        let _by_path = UnixListener::bind(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o777)).unwrap();
        let name = format!("windlass test {}", ground.stage.path().display());
        let _by_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let expected = if ground.level == SandboxLevel::None { "Code(0)" } else { "Code(1)" };
        for address in [format!("{:?}", path.to_str().unwrap()), format!("'\\0' + {name:?}")] {
            let ran = connect(&ground, &address);
            assert_eq!(ran.exit, expected, "{:?} {:?} {address}: {}", ground.who, ground.level, ran.text);
        }
    });
}
