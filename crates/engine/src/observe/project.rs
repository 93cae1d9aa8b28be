use std::path::{Path, PathBuf};

/// The project a folder belongs to: what `PROJECT_ROOT` says, else the nearest folder above that is a
/// git work tree or a BMAD project, else the folder itself. Links are resolved, so that a project is one
/// project however it was reached.
pub fn root(told: Option<&Path>, cwd: &Path) -> PathBuf {
    let resolve = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if let Some(told) = told.filter(|p| !p.as_os_str().is_empty()) {
        return resolve(&cwd.join(told));
    }
    let cwd = resolve(cwd);
    let is_root = |p: &&Path| p.join(".git").exists() || p.join("_bmad").is_dir();
    cwd.ancestors().find(is_root).unwrap_or(&cwd).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nearest_root_wins() {
        let tmp = tempfile::tempdir().unwrap();
        let base = tmp.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("repo/.git")).unwrap();
        fs::create_dir_all(base.join("repo/sub/deep")).unwrap();
        fs::create_dir_all(base.join("bmad/_bmad")).unwrap();
        assert_eq!(root(None, &base.join("repo/sub/deep")), base.join("repo"));
        assert_eq!(root(None, &base.join("bmad")), base.join("bmad"));
        assert_eq!(root(Some(Path::new("")), &base.join("repo")), base.join("repo"));
        assert_eq!(root(Some(&base.join("bmad")), &base.join("repo")), base.join("bmad"));
        std::os::unix::fs::symlink(base.join("repo"), base.join("link")).unwrap();
        assert_eq!(root(None, &base.join("link/sub")), base.join("repo"));
    }
}
