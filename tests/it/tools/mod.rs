//! The tools of the built-in agent, each called as the agent calls it: what they bring, and within which bounds.

mod files;
mod programs;
mod searching;

use ralphd::agent::tool::{External, Fault, Room, Tool, toolbox};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// A workspace with its tools, and a home and an outside beside it.
pub struct Bench {
    root: TempDir,
    tools: Vec<Box<dyn Tool>>,
}

impl Bench {
    pub fn new(external: External) -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["work", "home", "outside"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        let room = room(root.path(), external);
        let tools = toolbox(room).unwrap();
        Self { root, tools }
    }

    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// A path in the workspace.
    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join("work").join(name)
    }

    pub fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn tool(&self, name: &str) -> &dyn Tool {
        let found = self.tools.iter().find(|tool| tool.card().name == name);
        found.unwrap_or_else(|| panic!("no tool {name}")).as_ref()
    }

    pub async fn call(&self, name: &str, arguments: Json) -> Result<String, Fault> {
        self.tool(name).call(arguments).await
    }

    /// The result of a call that must go well.
    pub async fn done(&self, name: &str, arguments: Json) -> String {
        let said = self.call(name, arguments.clone()).await;
        said.unwrap_or_else(|fault| panic!("{name} {arguments}: {fault:?}"))
    }

    /// The words of a call that must be refused.
    pub async fn refused(&self, name: &str, arguments: Json) -> String {
        match self.call(name, arguments.clone()).await {
            Err(Fault::Wrong(words)) => words,
            other => panic!("{name} {arguments}: {other:?}"),
        }
    }
}

pub fn room(root: &Path, external: External) -> Room {
    let environment = [
        ("PATH", std::env::var("PATH").unwrap()),
        ("HOME", root.join("home").display().to_string()),
    ];
    Room {
        workspace: root.join("work"),
        environment: environment
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec(),
        external,
        readable: Vec::new(),
        writable: Vec::new(),
        timeout: Duration::from_secs(60),
        temporary: root.join("temporary"),
        bash_timeout: Duration::from_secs(60),
    }
}

/// The version of the kernel's fences; none: programs are refused, which is right, and leaves nothing to try.
pub fn fence_version() -> i64 {
    const VERSION: u32 = 1;
    // SAFETY: asks for the version only.
    unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<u8>(),
            0_usize,
            VERSION,
        )
    }
}

/// Whether programs can be tried here.
pub fn has_fence() -> bool {
    let has = fence_version() >= 3;
    if !has {
        println!("skipped: this kernel has no fence for programs");
    }
    has
}

#[test]
fn the_box_holds_the_tools_in_their_order() {
    let bench = Bench::new(External::Deny);
    let names: Vec<&str> = bench.tools.iter().map(|tool| tool.card().name).collect();
    assert_eq!(
        names,
        [
            "read",
            "write",
            "edit",
            "bash",
            "glob",
            "grep",
            "git_status",
            "git_diff",
            "git_log",
            "ask_human",
            "spawn_agent"
        ]
    );
    let reading: Vec<&str> = bench
        .tools
        .iter()
        .filter(|tool| tool.only_reads())
        .map(|tool| tool.card().name)
        .collect();
    assert_eq!(
        reading,
        ["read", "glob", "grep", "git_status", "git_diff", "git_log"]
    );
    for tool in &bench.tools {
        let card = tool.card();
        let schema = card.parameters.as_object().unwrap();
        assert_eq!(schema["additionalProperties"], false, "{}", card.name);
        for noise in ["$schema", "$defs", "title"] {
            assert!(!schema.contains_key(noise), "{}: {noise}", card.name);
        }
        let hands_on = ["ask_human", "spawn_agent"].contains(&card.name);
        assert_eq!(tool.ends_turn(), hands_on, "{}", card.name);
    }
}

#[test]
fn the_room_is_cleared_with_its_tools() {
    let bench = Bench::new(External::Deny);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    if !has_fence() {
        return;
    }
    let call = bench.done(
        "bash",
        serde_json::json!({"command": "echo x >$TMPDIR/f; echo $TMPDIR"}),
    );
    let said = runtime.block_on(call);
    let temporary = PathBuf::from(said.lines().next().unwrap());
    assert!(temporary.join("f").exists());
    drop(bench);
    assert!(!temporary.exists());
}
