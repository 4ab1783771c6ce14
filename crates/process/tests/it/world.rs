//! What the root directory of a program looks like at level namespaces.

use std::os::unix::fs::symlink;

use windlass_core::policy::SandboxLevel::Namespaces;

use crate::confined::on_each;

#[test]
fn the_root_has_the_reach_and_little_more() {
    on_each(&[Namespaces], |ground| {
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let before = mounts();
        let ran = ground.run(
            "ls /; echo --; ls /dev; echo --; hostname; echo --; ls -d /proc/[0-9]* | wc -l; tr '\\0' '\\n' </proc/1/environ; \
             echo --; grep -vE ' (ro|rw),nosuid' /proc/self/mounts; touch /x /dev/x; echo $?",
        );
        let parts: Vec<&str> = ran.text.split("--\n").collect();
        let [root, dev, host, processes, mounted] = parts[..] else { panic!("{}", ran.text) };
        for absent in ["home", "root", "run", "boot", "mnt", "srv", "media"] {
            assert!(!root.lines().any(|name| name == absent), "{absent} in {root}");
        }
        assert_eq!(
            dev.split_whitespace().collect::<Vec<_>>(),
            [
                "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "urandom",
                "zero"
            ]
        );
        assert_eq!(host, "windlass\n");
        let mut processes = processes.lines();
        assert!(processes.next().unwrap().trim().parse::<u32>().unwrap() <= 5, "{}", ran.text);
        assert!(processes.all(|line| line.starts_with("INVOCATION_ID=")), "{}", ran.text);
        assert!(
            mounted.starts_with("1\n"),
            "every mount is nosuid, and nothing is made in / or /dev: {mounted}"
        );
        assert_eq!(mounts(), before, "the host's mounts are as they were");
    });
}

#[test]
fn what_the_machine_shows_to_root_alone_is_hidden() {
    let closed = "find /etc /opt /usr/local -type f ! -perm -004 -size +0 2>/dev/null";
    let outside = std::process::Command::new("sh").args(["-c", closed]).output().unwrap();
    if outside.stdout.is_empty() {
        return windlass_testkit::capability::not_run("this machine has no file that is closed to others");
    }
    on_each(&[Namespaces], |ground| {
        let ran =
            ground.run(&format!("for file in $({closed}); do cat $file && echo read $file; done; echo done"));
        let read: Vec<&str> = ran.text.lines().filter(|line| line.starts_with("read ")).collect();
        assert!(ran.text.contains("done\n") && read.is_empty(), "{:?} {read:?}", ground.who);
    });
}

#[test]
fn the_longest_path_decides() {
    on_each(&[Namespaces], |mut ground| {
        for dir in ["a", "a/hidden", "a/hidden/shown", "a/hidden/shown/written", "work/kept", "work/hidden"] {
            ground.dir(dir);
        }
        for file in
            ["a/file", "a/hidden/secret", "a/hidden/shown/file", "work/kept/file", "work/hidden/secret"]
        {
            ground.file(file, "text");
        }
        ground.set("read", ground.at("a"));
        ground.set("hide", ground.at("a/hidden"));
        ground.set("read", ground.at("a/hidden/shown"));
        ground.set("write", ground.at("a/hidden/shown/written"));
        ground.set("read", ground.at("work/kept"));
        ground.set("hide", ground.at("work/hidden"));
        let root = ground.stage.path().display().to_string();
        let done = ground.try_each(&format!(
            "read: cat {root}/a/file
             hidden: ls {root}/a/hidden/secret
             shown: cat {root}/a/hidden/shown/file
             only the shown: test \"$(ls {root}/a/hidden)\" = shown
             change shown: touch {root}/a/hidden/shown/file
             written: touch {root}/a/hidden/shown/written/new
             change hidden: touch {root}/a/hidden/new
             workspace: touch new
             kept: cat kept/file
             change kept: touch kept/file || mv kept elsewhere
             hidden in the workspace: ls hidden/secret || touch hidden/new"
        ));
        assert_eq!(
            done,
            ["read", "shown", "only the shown", "written", "workspace", "kept"],
            "{:?}",
            ground.who
        );
        assert!(ground.at("a/hidden/shown/written/new").exists() && !ground.at("work/hidden/new").exists());
    });
}

#[test]
fn all_of_the_host_may_be_read_but_for_what_is_hidden() {
    on_each(&[Namespaces], |mut ground| {
        ground.dir("hidden");
        ground.file("hidden/secret", "text");
        ground.file("plain", "text");
        ground.set("read", "/");
        ground.set("read", ground.at("plain"));
        ground.set("hide", ground.at("hidden"));
        let root = ground.stage.path().display().to_string();
        let done = ground.try_each(&format!(
            "host: ls /usr /var /sys/kernel
             named: cat {root}/plain
             own processes: test \"$(ls -d /proc/[0-9]* | wc -l)\" -le 9
             workspace: touch made
             null: echo x >/dev/null
             hidden: cat {root}/hidden/secret
             hidden directory: touch {root}/hidden/new
             devices: ls /dev/pts/0 /dev/vda /dev/sda /dev/mem /dev/kmsg
             write: touch /usr/new || touch /var/new"
        ));
        assert_eq!(done, ["host", "named", "own processes", "workspace", "null"], "{:?}", ground.who);
        let ran = ground.run(&format!("ls -A {root}/hidden"));
        assert_eq!(ran.text, "", "{:?}", ground.who);
    });
}

#[test]
fn links_by_which_something_was_named_are_there() {
    on_each(&[Namespaces], |mut ground| {
        ground.dir("real");
        ground.file("real/file", "text");
        symlink("real", ground.at("near")).unwrap();
        symlink(ground.at("near/file"), ground.at("far")).unwrap();
        ground.set("read", ground.at("near"));
        ground.set("read", ground.at("far"));
        let root = ground.stage.path().display().to_string();
        let done = ground.try_each(&format!(
            "directory: cat {root}/near/file
             file: cat {root}/far
             itself: cat {root}/real/file
             system: test -L /bin -a -x /bin/sh || test -d /bin -a -x /bin/sh"
        ));
        assert_eq!(done, ["directory", "file", "itself", "system"]);
    });
}

#[test]
fn scratch_is_what_the_program_finds_as_tmp() {
    on_each(&[Namespaces], |mut ground| {
        let done = ground.try_each(
            "memory: echo x >/tmp/x && echo y >/var/tmp/y
             shared memory: echo x >/dev/shm/x",
        );
        assert_eq!(done, ["memory", "shared memory"]);
        ground.dir("scratch");
        ground.set("scratch", ground.at("scratch"));
        ground.run("echo x >/tmp/seen; cat /var/tmp/seen >/tmp/again");
        assert_eq!(std::fs::read_to_string(ground.at("scratch/again")).unwrap(), "x\n");
    });
}

#[test]
fn a_link_planted_in_scratch_leads_nowhere() {
    on_each(&[Namespaces], |mut ground| {
        // The workspace lies below /tmp, so its mount point is made in the scratch that is shown as /tmp.
        let below: Vec<_> = ground.stage.path().components().skip(2).collect();
        if !ground.stage.path().starts_with("/tmp") || below.is_empty() {
            windlass_testkit::capability::not_run("temporary directories are not below /tmp");
            return;
        }
        let (scratch, victim) = (ground.dir("scratch"), ground.dir("victim"));
        symlink(&victim, scratch.join(below[0])).unwrap();
        ground.set("scratch", &scratch);
        let ran = ground.run("true");
        assert!(ran.exit.starts_with("NotStarted"), "{}", ran.exit);
        assert_eq!(std::fs::read_dir(victim).unwrap().count(), 0);
    });
}

#[test]
fn a_throwaway_tree_is_all_that_is_seen_of_it() {
    on_each(&[Namespaces], |mut ground| {
        for key in ["lower", "at", "upper"] {
            ground.dir(key);
            ground.set(key, ground.at(key));
        }
        ground.file("lower/kept", "original");
        let root = ground.stage.path().display().to_string();
        let ran = ground.run(&format!(
            "cd {root}/at && echo changed >kept && mkdir new && chmod 000 new && cat kept; ls {root}"
        ));
        if ran.exit.contains("cannot mount") {
            return windlass_testkit::capability::not_run("no overlay can be mounted here");
        }
        assert_eq!(
            (ran.exit.as_str(), ran.text.as_str()),
            ("Code(0)", "changed\nat\nwork\n"),
            "{:?}",
            ground.who
        );
        assert_eq!(std::fs::read_to_string(ground.at("lower/kept")).unwrap(), "original");
        assert_eq!(std::fs::read_dir(ground.at("at")).unwrap().count(), 0);
    });
}
