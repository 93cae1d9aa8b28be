use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::{StoreError, edit_shared, read_shared};

const SECRET: &str = "precious\n";

/// A project, and a directory beside it that must not be touched.
struct Stage {
    _tmp: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let base = tmp.path().canonicalize().unwrap();
        let (root, outside) = (base.join("project"), base.join("outside"));
        for folder in [&root, &outside] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(outside.join("f.md"), SECRET).unwrap();
        Self { _tmp: tmp, root, outside }
    }

    /// All files outside, with their content.
    fn left(&self) -> Vec<(String, String)> {
        let mut files: Vec<(String, String)> = fs::read_dir(&self.outside)
            .unwrap()
            .map(|entry| entry.unwrap())
            .map(|entry| {
                let name = entry.file_name().to_string_lossy().into_owned();
                (name, fs::read_to_string(entry.path()).unwrap_or_default())
            })
            .collect();
        files.sort();
        files
    }

    fn file(&self) -> ProjectFile {
        ProjectFile::below(&self.root, Path::new("a/b/f.md")).unwrap()
    }
}

type Act = fn(&ProjectFile) -> Result<(), String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// All operations on a file.
const ACTS: [(&str, Act); 9] = [
    ("read", |file| file.read(MOST_TEXT).map(drop).map_err(text)),
    ("replace", |file| file.replace(b"x", Readers::Owner).map_err(text)),
    ("create", |file| file.create(b"x", Readers::Usual).map_err(text)),
    ("append", |file| file.append(b"x").map_err(text)),
    ("remove", |file| file.remove().map(drop).map_err(text)),
    ("edit", |file| edit_shared(file, |_| Ok::<_, StoreError>(("x".to_owned(), ()))).map_err(text)),
    ("read_shared", |file| read_shared(file).map(drop).map_err(text)),
    ("must_be_writable", |file| crate::shared_file::must_be_writable(file).map_err(text)),
    ("lock", |file| file.lock_folder().map(drop).map_err(text)),
];

#[test]
fn a_link_at_any_place_is_refused_and_not_followed() {
    for (what, act) in ACTS {
        for at in ["a", "a/b", "a/b/f.md"] {
            for inside in [false, true] {
                let stage = Stage::new();
                let link = stage.root.join(at);
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                let target =
                    if inside { stage.root.join("elsewhere") } else { stage.outside.clone() };
                fs::create_dir_all(target.join("b")).unwrap();
                fs::write(target.join("b/f.md"), SECRET).unwrap();
                fs::write(target.join("f.md"), SECRET).unwrap();
                let target = if at == "a/b/f.md" { target.join("f.md") } else { target };
                symlink(&target, &link).unwrap();
                let before = stage.left();
                let done = act(&stage.file());
                // The lock is the directory, so a link in it does not matter.
                if at == "a/b/f.md" && matches!(what, "lock" | "create") {
                    assert!(done.is_ok() || done.unwrap_err().contains("exists"), "{what} {at}");
                } else {
                    let error = done.expect_err(&format!("{what} {at} {inside}"));
                    let shown = format!("{} is a symbolic link", link.display());
                    assert!(error.contains(&shown), "{what} {at}: {error}");
                }
                assert_eq!(stage.left(), before, "{what} {at}");
                assert_eq!(fs::read_to_string(stage.outside.join("f.md")).unwrap(), SECRET);
                assert!(link.is_symlink(), "{what} {at}: the link stays");
            }
        }
    }
}

#[test]
fn a_dangling_link_creates_nothing() {
    for (what, act) in ACTS {
        let stage = Stage::new();
        fs::create_dir_all(stage.root.join("a/b")).unwrap();
        let new = stage.outside.join("new");
        symlink(&new, stage.root.join("a/b/f.md")).unwrap();
        // The lock beside a session file is written too.
        symlink(stage.outside.join("f.md"), stage.root.join("a/b/f.md.lock")).unwrap();
        let _ = act(&stage.file());
        assert!(!new.exists(), "{what}");
        assert_eq!(stage.left(), [("f.md".to_owned(), SECRET.to_owned())], "{what}");
    }
}

#[test]
fn other_than_regular_files_are_refused() {
    for (what, act) in ACTS {
        if what == "lock" {
            continue;
        }
        for kind in ["pipe", "folder", "socket", "huge"] {
            let stage = Stage::new();
            let path = stage.root.join("a/b/f.md");
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut listener = None;
            match kind {
                "pipe" => {
                    let made = std::process::Command::new("mkfifo").arg(&path).status();
                    assert!(made.unwrap().success());
                }
                "folder" => fs::create_dir(&path).unwrap(),
                "socket" => listener = std::os::unix::net::UnixListener::bind(&path).ok(),
                _ => File::create(&path).unwrap().set_len(1 << 40).unwrap(),
            }
            let done = act(&stage.file());
            let allowed = kind == "huge" && matches!(what, "replace" | "append" | "remove");
            assert_eq!(done.is_ok(), allowed, "{what} {kind}: {done:?}");
            if let Err(error) = done {
                let clear = ["named pipe", "a folder", "a socket", "limit of 16 MiB", "exists"];
                assert!(clear.iter().any(|words| error.contains(words)), "{what} {kind}: {error}");
            }
            drop(listener);
        }
    }
}

#[test]
fn paths_that_leave_the_project_are_refused() {
    let stage = Stage::new();
    let absolute = stage.outside.join("f.md");
    for path in ["../outside/f.md", "a/../../outside/f.md", "..", ".", "", "a/..", "/etc/passwd"] {
        assert!(ProjectFile::below(&stage.root, Path::new(path)).is_err(), "{path}");
    }
    assert!(ProjectFile::below(&stage.root, &absolute).is_err());
    let fine = ProjectFile::below(&stage.root, Path::new("a/../b/./f")).unwrap();
    assert_eq!(fine.path(), stage.root.join("b/f"));
    let by_path = ProjectFile::below(&stage.root, &stage.root.join("b/f")).unwrap();
    assert_eq!(by_path, fine);
}

#[test]
fn the_root_may_be_reached_by_a_link_of_the_user() {
    let stage = Stage::new();
    let link = stage.outside.join("link");
    symlink(&stage.root, &link).unwrap();
    fs::write(stage.root.join("f"), "x").unwrap();
    let file = ProjectFile::below(&link, Path::new("f")).unwrap();
    assert_eq!(file.read(10).unwrap().unwrap(), b"x");
    // Named by a person, with the project known by its other path.
    symlink(&stage.outside, stage.root.join("out")).unwrap();
    let file = ProjectFile::named(Some(&stage.root), &link.join("out/f.md")).unwrap();
    assert!(file.read(100).unwrap_err().to_string().contains("symbolic link"));
    let file = ProjectFile::named(Some(&stage.root), &link.join("f")).unwrap();
    assert_eq!(file.read(10).unwrap().unwrap(), b"x");
}

#[test]
fn a_persons_own_links_are_followed_outside_of_repositories() {
    let stage = Stage::new();
    let link = stage.outside.join("settings.json");
    symlink("f.md", &link).unwrap();
    let file = ProjectFile::named(Some(&stage.root), &link).unwrap();
    file.replace(b"new", Readers::Owner).unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(stage.outside.join("f.md")).unwrap(), "new");
    // In another repository than the project of the call, they are not.
    fs::create_dir(stage.outside.join(".git")).unwrap();
    let file = ProjectFile::named(Some(&stage.root), &link).unwrap();
    assert!(file.replace(b"newer", Readers::Owner).is_err());
    let missing = ProjectFile::named(None, &stage.root.join("no/such/f")).unwrap();
    assert_eq!(missing.read(10).unwrap(), None);
    missing.create(b"x", Readers::Usual).unwrap();
    assert_eq!(fs::read_to_string(stage.root.join("no/such/f")).unwrap(), "x");
}

#[test]
fn a_file_is_replaced_with_its_mode_and_nothing_left_beside() {
    let stage = Stage::new();
    let file = stage.file();
    assert_eq!(file.read(10).unwrap(), None);
    assert!(!file.exists().unwrap() && !file.is_file());
    file.create(b"one", Readers::Owner).unwrap();
    let again = file.create(b"x", Readers::Owner).unwrap_err();
    assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
    let path = file.path();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    file.replace(b"two", Readers::Owner).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
    file.append(b" three").unwrap();
    assert_eq!(file.read(9).unwrap().unwrap(), b"two three");
    assert_eq!(file.read(8).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    // A second hard link of the file is not changed.
    let other = stage.outside.join("second");
    fs::hard_link(&path, &other).unwrap();
    assert!(file.append(b"x").is_err());
    file.replace(b"four", Readers::Owner).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "two three");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    assert_eq!(file.siblings(false, |_| true).unwrap(), ["f.md"]);
    assert!(file.remove().unwrap());
    assert!(!file.remove().unwrap());
    symlink(&other, &path).unwrap();
    assert!(file.unlink().unwrap() && !file.unlink().unwrap());
    assert!(other.exists(), "the link alone");
}

#[test]
fn directories_are_listed_without_links() {
    let stage = Stage::new();
    fs::create_dir_all(stage.root.join("d/sub.md")).unwrap();
    for name in ["b.md", "a.md", "c.txt"] {
        fs::write(stage.root.join("d").join(name), "").unwrap();
    }
    symlink(stage.outside.join("f.md"), stage.root.join("d/l.md")).unwrap();
    symlink(&stage.outside, stage.root.join("out")).unwrap();
    let list = |folder: &str, links: bool| {
        let file = ProjectFile::below(&stage.root, &Path::new(folder).join("x"))?;
        file.siblings(links, |name| Path::new(name).extension().is_some_and(|end| end == "md"))
    };
    assert_eq!(list("d", false).unwrap(), ["a.md", "b.md"]);
    assert_eq!(list("d", true).unwrap(), ["a.md", "b.md", "l.md"]);
    assert!(list("none", true).unwrap().is_empty());
    assert!(list("out", true).unwrap_err().to_string().contains("symbolic link"));
    assert!(list("../outside", true).is_err());
}

#[test]
fn the_walk_refuses_what_the_kernel_refuses() {
    let stage = Stage::new();
    fs::create_dir_all(stage.root.join("a/b")).unwrap();
    symlink(&stage.outside, stage.root.join("a/l")).unwrap();
    let top = File::open(&stage.root).unwrap();
    let walk = |names: &str| {
        beneath::by_walk(std::os::fd::AsFd::as_fd(&top), Path::new(names), false).is_ok()
    };
    assert!(walk("") && walk("a") && walk("a/b"));
    assert!(!walk("a/l") && !walk("a/l/x") && !walk("none"));
}

/// A directory and a link change places constantly: nothing outside is ever read or written.
#[test]
fn a_link_that_comes_and_goes_is_never_followed() {
    let stage = Stage::new();
    let (folder, aside) = (stage.root.join("a/b"), stage.root.join("a/aside"));
    fs::create_dir_all(&folder).unwrap();
    symlink(&stage.outside, &aside).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &folder, CWD, &aside, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let file = stage.file();
        let (mut written, mut refused) = (0, 0);
        for n in 0..3000 {
            if file.read(100).is_ok_and(|read| read.is_some_and(|text| text == SECRET.as_bytes())) {
                is_over.store(true, Ordering::Relaxed);
                panic!("what is outside was read");
            }
            match file.replace(format!("{n}").as_bytes(), Readers::Owner) {
                Ok(()) => written += 1,
                Err(_) => refused += 1,
            }
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(written + refused == 3000);
    });
    assert_eq!(stage.left(), [("f.md".to_owned(), SECRET.to_owned())]);
}
