//! Attempts on files. `@OUT` is a directory of the attempt's own where nobody may write, with `file`, `program`, `dir/inner` and
//! `empty`; the working directory holds `own`. What begins with `%` is Perl.

/// Commands that change something in `@OUT`.
pub(super) const WRITES: &[&str] = &[
    "rm -rf @OUT/dir",
    "rm -rf @OUT/*",
    "find @OUT -delete",
    "rmdir @OUT/empty",
    "unlink @OUT/file",
    "shred -u @OUT/file",
    "echo x > @OUT/file",
    "echo x >> @OUT/file",
    "echo x >| @OUT/new",
    ": > @OUT/file",
    "exec 3<>@OUT/file; echo x >&3",
    "exec >> @OUT/file; echo x",
    "cat > @OUT/file <<< x",
    "cd @OUT && echo x > file",
    "cd @OUT/dir; cd ..; echo x > file",
    "pushd @OUT; echo x > new; popd",
    "echo x | tee @OUT/file",
    "tee -a @OUT/new < own",
    "cp own @OUT/copy",
    "cp -a own @OUT/dir/inner",
    "cp --remove-destination own @OUT/file",
    "cp -l own @OUT/hard",
    "cp -s $PWD/own @OUT/soft",
    "cp -r . @OUT/tree",
    "mv @OUT/file ${TMPDIR:-/tmp}/id-@ID; rm -f ${TMPDIR:-/tmp}/id-@ID",
    "mv @OUT/file @OUT/renamed",
    "mv -T @OUT/dir @OUT/empty",
    "ln @OUT/file @OUT/link",
    "ln -f own @OUT/file",
    "ln -s /etc/passwd @OUT/link",
    "ln -sfn /etc @OUT/file",
    "mkdir -p @OUT/a/b",
    "(umask 0; mkdir -m 777 @OUT/open)",
    "mkfifo @OUT/pipe",
    "mknod @OUT/pipe p",
    "touch @OUT/new",
    "truncate -s 0 @OUT/file",
    "truncate -s +5 @OUT/file",
    "fallocate -l 99 @OUT/file",
    "dd if=/dev/zero of=@OUT/file bs=1 count=1 conv=notrunc",
    "printf x | dd of=@OUT/new",
    "sed -i s/theirs/mine/ @OUT/file",
    "sed -n 'w @OUT/new' own",
    "awk 'BEGIN { print \"x\" > \"@OUT/file\" }'",
    "sort -o @OUT/file /etc/passwd",
    "uniq own @OUT/new",
    "split -b1 own @OUT/part",
    "tar cf - own | tar xf - -C @OUT",
    "gzip -k @OUT/file",
    "install -m 755 own @OUT/program",
    "install -d @OUT/new",
    "mktemp -p @OUT",
    "flock @OUT/new true",
    "find . -name own -fprint @OUT/new",
    "find . -name own -exec cp {} @OUT/new \\;",
    "echo @OUT/new | xargs -I{} sh -c 'echo x > {}'",
    "git init -q @OUT/repository",
    "git -C @OUT init -q",
    "git clone -q --bare \"$PWD\" @OUT/clone; git init -q --separate-git-dir @OUT/git .",
    "env -i /bin/sh -c 'echo x > @OUT/file'",
    "echo x > /proc/self/root@OUT/file",
    "echo x > /proc/$$/root@OUT/file",
    "echo x > /proc/self/cwd/../../outside/@ID/file",
    "trap 'echo x > @OUT/file' EXIT; exit 3",
    "(sleep 0.01; echo x > @OUT/file) & wait",
    "coproc { echo x > @OUT/file; }; wait",
];

/// Commands that go round: through links, handles and names in the directory where one may write.
pub(super) const THROUGH: &[&str] = &[
    "ln -s @OUT/file s && echo x > s",
    "ln -s @OUT d && echo x > d/new",
    "ln -s @OUT d && rm -rf d/*",
    "ln -s ../../outside/@ID d && cd d && echo x > new",
    "ln @OUT/file hard && echo x > hard",
    "mv own @OUT/moved",
    "mv @OUT/file here",
    "mv @OUT/dir .",
    "mkdir m; mv m @OUT/m",
    "mkdir -p x/y; cd x/y; mv ../../x/y @OUT/y; echo x > new",
    "exec 3< @OUT; echo x > /proc/self/fd/3/new",
    "exec 3< @OUT/file; echo x > /proc/self/fd/3",
    "exec 3< @OUT/file; echo x > /dev/fd/3",
    "exec 3< @OUT/dir; cd -P /proc/self/fd/3/..; echo x > file",
    "cd @OUT; (echo x > /proc/$BASHPID/cwd/file)",
    "ln -s /proc/self/root up; echo x > up@OUT/file",
    "mkfifo p; exec 3<> p; echo x >&3; head -n 1 <&3 > @OUT/file",
    "cp own script; chmod +x script; printf 'echo x > @OUT/file' > script; ./script",
    "printf '#!/usr/bin/perl\\nopen F, q(>@OUT/file) or die; print F 1' > p; chmod +x p; ./p",
    "git init -q . && git config core.worktree @OUT && git checkout -q -f; git -c core.bare=false --work-tree=@OUT hash-object -w own; echo x > @OUT/file",
];

/// System calls that change something in `@OUT`.
pub(super) const CALLS: &[&str] = &[
    "% open F, q(>), q(@OUT/file); print F 1",
    // An open that reads, and empties the file all the same.
    "% sysopen F, q(@OUT/file), O_RDONLY|O_TRUNC",
    "% sysopen F, q(@OUT/file), O_WRONLY|O_NOFOLLOW; syswrite F, 1",
    "% truncate q(@OUT/file), 0",
    "% rename q(@OUT/file), q(@OUT/other)",
    "% unlink q(@OUT/file)",
    "% link q(@OUT/file), q(@OUT/other)",
    "% symlink q(x), q(@OUT/other)",
    "% k(85, q(@OUT/file), 0600)", // creat
    "% my $d = k(257, -100, q(@OUT), 0x10000, 0); k(263, $d, q(file), 0)", // unlinkat
    "% my $d = k(257, -100, q(@OUT), 0x10000, 0); k(258, $d, q(new), 0777)", // mkdirat
    "% my $d = k(257, -100, q(@OUT), 0x210000, 0); k(257, $d, q(new), 0x41, 0600)", // O_PATH, openat
    "% k(437, -100, q(@OUT/new), pack(q(Q3), 0x41, 0600, 0), 24)",                  // openat2
    "% k(316, -100, q(@OUT/file), -100, q(@OUT/dir), 2)", // renameat2, exchange
    "% k(316, -100, q(@OUT/file), -100, q(@OUT/new), 1)", // no replace
    "% k(264, -100, q(@OUT/file), -100, q(@OUT/new))",    // renameat
    "% my $f = k(257, -100, q(@OUT/file), 0, 0); k(265, -100, qq(/proc/self/fd/$f), -100, q(@OUT/new), 0x400)", // linkat
    "% my $f = k(257, -100, q(.), 0x410002, 0600); k(265, -100, qq(/proc/self/fd/$f), -100, q(@OUT/new), 0x400)", // O_TMPFILE
    "% k(266, q(x), -100, q(@OUT/new))",         // symlinkat
    "% k(133, q(@OUT/new), 0100600, 0)",         // mknod
    "% k(259, -100, q(@OUT/new), 010600, 0)",    // mknodat
    "% k(76, q(@OUT/file), 1)",                  // truncate
    "% chdir q(@OUT); k(82, q(file), q(other))", // rename, relative
    "% chdir q(@OUT/dir); chdir q(..); k(84, q(empty))", // rmdir
];

/// The same for root alone.
pub(super) const CALLS_OF_ROOT: &[&str] = &[
    "mknod @OUT/null c 1 3",
    "cp -a /dev/null @OUT/null",
    "% k(133, q(@OUT/null), 020600, 0x103)", // mknod
    // A handle opens a file without a path: name_to_handle_at, open_by_handle_at.
    "% my $h = pack(q(Lla128), 128, 0, q()); my $m = pack(q(l), 0); my $p = q(@OUT/file); syscall(303, -100, $p, $h, $m, 0); my $d = k(257, -100, q(@OUT), 0, 0); my $f = k(304, $d, $h, 1); open F, q(>&=), $f; syswrite F, q(x)",
    // A file system of one's own over somebody's directory is seen by nobody outside; writing through it is.
    "unshare -m sh -c 'mount -o remount,rw,bind @OUT; mount -o remount,rw /; echo x > @OUT/file'",
    "nsenter -t @PID -m sh -c 'echo x > @OUT/file'",
    "chroot / sh -c 'echo x > @OUT/file'",
    "% k(161, q(/)); open F, q(>@OUT/file); print F 1", // chroot
    "% k(272, 0x20000); k(165, q(none), q(@OUT/empty), q(tmpfs), 0, 0); open F, q(>@OUT/file); print F 1", // unshare, mount
];

/// Namespaces, through which what is read-only could be written again.
pub(super) const NAMESPACES: &[&str] = &[
    "unshare -r sh -c 'echo x > @OUT/file'",
    "unshare -rm sh -c 'mount -o remount,rw,bind /; umount -l @OUT; echo x > @OUT/file'",
    "unshare -rm sh -c 'mount --rbind / own; mount -o remount,rw,bind own; echo x > @OUT/file'",
    "unshare -rpf sh -c 'echo x > @OUT/file'",
    "unshare -rpfm --mount-proc sh -c 'echo x > /proc/1/root@OUT/file'",
    "unshare -ri sh -c 'echo x > @OUT/file'",
    "unshare -ru sh -c 'echo x > @OUT/file'",
    "unshare -rn sh -c 'echo x > @OUT/file'",
    "unshare -rC sh -c 'echo x > @OUT/file'",
    "unshare -rT sh -c 'echo x > @OUT/file'",
    "% k(272, 0x10000000); open F, q(>@OUT/file); print F 1", // unshare, user
    "% my $p = k(56, 0x10000011, 0, 0, 0, 0); if (!$p) { open F, q(>@OUT/file); print F 1; exec q(true) } wait", // clone
    "% my $a = pack(q(Q8), 0x10000000, 0, 0, 0, 17, 0, 0, 0); my $p = k(435, $a, 64); if (!$p) { open F, q(>@OUT/file); print F 1; exec q(true) } wait", // clone3
    "setpriv --no-new-privs sh -c 'echo x > @OUT/file'",
];
