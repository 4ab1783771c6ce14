//! An agent of the Agent Client Protocol through a whole loop, confined: one that tries what it may not.

use windlass_testkit::Repo;

use crate::case::Case;

const FAKE: &str = r#"
say() { printf '%s\n' "$1"; }
ask() { say '{"jsonrpc":"2.0","id":"a","method":"'"$1"'","params":'"$2"'}'; read -r answer; }
read -r line; say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"fake","version":"1"}}}'
read -r line; say '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s1"}}'
read -r line
ask terminal/create '{"sessionId":"s1","command":"echo x > OUTSIDE/by-terminal; echo done > ended"}'
ask terminal/wait_for_exit '{"sessionId":"s1","terminalId":"terminal-1"}'
ask fs/write_text_file '{"sessionId":"s1","path":"OUTSIDE/by-file","content":"x"}'
ask session/request_permission '{"sessionId":"s1","options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}],"toolCall":{"toolCallId":"c","title":"edit a file","kind":"edit","locations":[{"path":"OUTSIDE/by-tool"}]}}'
case $answer in *'"optionId":"n"'*) ;; *) exit 7 ;; esac
ask fs/write_text_file '{"sessionId":"s1","path":"'"$PWD"'/add.sh","content":"echo $(($1 + $2))\n"}'
rm -f ended
say '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"It adds."}}}}'
say '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
"#;

/// One task: `add.sh` is to add.
fn case(agent: &str) -> Case {
    let repo = Repo::empty();
    repo.file("tasks/001-add.md", "---\nchecks: [add]\n---\n# Write add.sh\n\n`sh add.sh 2 3` prints 5.\n");
    repo.file("test/add.sh", "test \"$(sh add.sh 2 3)\" = 5\n");
    let policy = format!(
        "[agent]\nuse = \"acp\"\n{agent}\ntimeout = \"60s\"\n[plan]\nsource = \"tasks/\"\n[gate]\nprotect = [\"test/\"]\n\
         [[gate.check]]\nname = \"add\"\nrun = \"sh test/add.sh\"\n[review]\ntasks = false\nfinal = false\n"
    );
    Case::of(repo, &policy)
}

#[test]
fn what_it_may_not_is_refused_and_the_work_lands() {
    // Inside, `/tmp` is the agent's own.
    let elsewhere = tempfile::tempdir_in("/var/tmp").unwrap();
    let script = elsewhere.path().join("agent.sh");
    std::fs::write(&script, FAKE.replace("OUTSIDE", elsewhere.path().to_str().unwrap())).unwrap();
    let seen = case(&format!("command = [\"sh\", \"{}\"]", script.display())).run();
    seen.completed();
    for name in ["by-terminal", "by-file", "by-tool"] {
        assert!(!elsewhere.path().join(name).exists(), "{name}\n{}", seen.log);
    }
    let end = &seen.log.of("attempt_finished")[0]["result"];
    assert_eq!(end["agent"], "fake 1", "{end}");
    let refused = end["summary"]["refused"].to_string();
    assert!(refused.contains("by-file") && refused.contains("by-tool"), "{end}");
}
