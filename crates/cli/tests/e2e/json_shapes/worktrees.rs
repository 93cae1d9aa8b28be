//! Worktrees: started, compared, finished; and the files that are trusted.

use crate::worktrees::{Repo, write};

#[test]
fn of_worktrees() {
    let repo = Repo::new();
    repo.write(".env", "x\n");
    repo.write(".dogwatch.toml", "copy = ['.env']\nsetup = 'true'\n[values]\nSLOT = '7'\n");
    shape!("trust_show", repo.dogwatch(&["trust", "--show", "--json"]).success());
    shape!("trust", repo.dogwatch(&["trust", "--json"]).success());
    let args = ["spawn", "--name", "x", "--json", "--worktree", "--", "sleep", "300"];
    let spawned = repo.dogwatch(&args).success();
    let folder = spawned.json()["worktree"]["folder"].as_str().unwrap().to_owned();
    shape!("spawn_worktree", spawned);
    write(folder.as_ref(), "b", "b\n");
    shape!("diff", repo.dogwatch(&["diff", "x", "--json"]).success());
    shape!("finish_kept", repo.finish(&["x", "--keep"]).success());
    shape!("finish_uncommitted", repo.finish(&["x", "--merge"]).code(4));
    shape!("finish_discarded", repo.finish(&["x", "--discard", "--yes", "--kill"]).success());
    shape!("untrust", repo.dogwatch(&["untrust", "--json"]).success());
}
