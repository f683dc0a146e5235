//! Attempts on modes, owners, times and attributes: what leaves content and names as they are.

/// Commands and calls that change metadata in `@OUT`.
pub(super) const METADATA: &[&str] = &[
    "chmod 777 @OUT/file",
    "chmod 4755 @OUT/program",
    "chmod -R go-rwx @OUT",
    "chmod g+s @OUT/dir",
    "touch -d 2001-01-01 @OUT/file",
    "touch -a @OUT/file",
    "touch -r /etc/passwd @OUT/dir",
    "chown $(id -u):$(id -g) @OUT/file",
    "chgrp $(id -g) @OUT/dir",
    "ln -s @OUT/file s; chmod 600 s",
    "cd @OUT; chmod 600 file",
    "exec 3< @OUT/file; chmod 600 /proc/self/fd/3",
    "% utime 1, 2, q(@OUT/file)",
    "% chmod 0600, q(@OUT/file)",
    "% open F, q(<), q(@OUT/file); chmod 0600, *F",
    "% k(188, q(@OUT/file), q(user.x), q(1), 1, 0) == 0 or chmod 0, q(@OUT/file)", // setxattr
    "% k(189, q(@OUT/file), q(user.x), q(1), 1, 0) == 0 or chmod 0, q(@OUT/file)", // lsetxattr
    "% open F, q(<), q(@OUT/file); k(190, fileno F, q(user.x), q(1), 1, 0) == 0 or chmod 0, *F",
    "% k(90, q(@OUT/file), 0600)",                              // chmod
    "% k(268, -100, q(@OUT/file), 0600)",                       // fchmodat
    "% k(452, -100, q(@OUT/file), 0600, 0)",                    // fchmodat2
    "% k(260, -100, q(@OUT/file), $<, $(+0, 0)",                // fchownat
    "% k(94, q(@OUT/file), $<, $(+0)",                          // lchown
    "% k(280, -100, q(@OUT/file), pack(q(q4), 1, 0, 2, 0), 0)", // utimensat
    "% k(132, q(@OUT/file), pack(q(q2), 1, 2))",                // utime
    "% k(235, q(@OUT/file), pack(q(q4), 1, 0, 2, 0))",          // utimes
    "% k(261, -100, q(@OUT/file), pack(q(q4), 1, 0, 2, 0))",    // futimesat
];

/// The same, by opening the file to write.
pub(super) const BY_WRITING: &[&str] =
    &["cp --attributes-only --preserve=mode,timestamps own @OUT/file"];
