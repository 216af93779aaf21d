/* What C programs call, and how it should decode: a success and two failures a kind.
 *
 * Usage: calls FOLDER CASE. Makes the calls of one case under a tracer. A case is named
 * after the kind of its calls and the calls; what it does before `traced()` is not looked
 * at. The line below each call is how test_decode.py shows it; {uid}, {gid} and {box} are
 * filled in, `-` is what could not be read, N is a number of no meaning.
 *
 * FOLDER has a regular file `file` of five bytes, a folder `folder` with one name in it,
 * an empty folder `empty`, and a symlink `link` to the file.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

#define sys(name, ...) syscall(NR_##name, ##__VA_ARGS__)
#define BAD ((void *)1)
#define CASE(name) if (strcmp(argv[2], name) == 0)

/* Room for whatever calls give back. */
static char buffer[1 << 16];

static void traced(void)
{
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
        exit(2);
    kill(getpid(), SIGSTOP);
}

int main(int argc, char **argv)
{
    int ends[2];

    /* As a new program, after an exec: nothing to do. */
    if (argc != 3)
        return 0;
    for (int fd = 3; fd < 256; fd++)
        close(fd);
    umask(022);
    if (chdir(argv[1]) < 0)
        return 2;
    if (open("file", O_RDWR) != 3 || open("folder", O_RDONLY | O_DIRECTORY) != 4)
        return 2;
    if (pipe(ends) < 0 || ends[0] != 5 || ends[1] != 6)
        return 2;

    CASE("open: openat") {
        traced();
        sys(openat, AT_FDCWD, "new", O_WRONLY | O_CREAT | O_EXCL, 0640);
        //= openat(dirfd=cwd path=new flags=O_WRONLY|O_CREAT|O_EXCL mode=0640) = 7
        sys(openat, 4, "inner", O_RDONLY | O_CLOEXEC, 07777);
        //= openat(dirfd=4 path=inner flags=O_RDONLY|O_CLOEXEC) = 8
        sys(openat, AT_FDCWD, "absent", O_RDWR | O_APPEND);
        //= openat(dirfd=cwd path=absent flags=O_RDWR|O_APPEND) = ENOENT
        sys(openat, AT_FDCWD, "link", O_RDONLY | O_NOFOLLOW);
        //= openat(dirfd=cwd path=link flags=O_RDONLY|O_NOFOLLOW) = ELOOP
        sys(openat, 4, ".", O_DIRECTORY | O_TMPFILE | O_RDONLY, 0600);
        //= openat(dirfd=4 path=. flags=O_RDONLY|O_TMPFILE mode=0600) = EINVAL
        sys(openat, AT_FDCWD, BAD, 3 | 0x80000000);
        //= openat(dirfd=cwd path=- flags=O_ACCMODE|0x80000000) = EFAULT
    }
#ifdef NR_open
    CASE("open: open creat") {
        traced();
        sys(open, "file", O_RDONLY, 1);
        //= open(path=file flags=O_RDONLY) = 7
        sys(open, "file/x", O_RDONLY);
        //= open(path=file/x flags=O_RDONLY) = ENOTDIR
        sys(creat, "new", 0600);
        //= creat(path=new mode=0600) = 8
        sys(creat, "folder", 0600);
        //= creat(path=folder mode=0600) = EISDIR
    }
#endif
    CASE("open: openat2") {
        uint64_t how[] = {O_WRONLY | O_CREAT, 0600, 8};
        traced();
        sys(openat2, 4, "new", how, 24);
        //= openat2(dirfd=4 path=new flags=O_WRONLY|O_CREAT mode=0600 resolve=RESOLVE_BENEATH) = 7
        how[1] = 0;
        how[0] = O_RDONLY;
        sys(openat2, 4, "../file", how, 24);
        //= openat2(dirfd=4 path=../file flags=O_RDONLY resolve=RESOLVE_BENEATH) = EXDEV
        sys(openat2, 4, "new", how, 8);
        //= openat2(dirfd=4 path=new flags=O_RDONLY resolve=RESOLVE_BENEATH) = EINVAL
        sys(openat2, 4, "new", BAD, 24);
        //= openat2(dirfd=4 path=new how=-) = EFAULT
    }
    CASE("read: read pread64") {
        traced();
        sys(read, 3, buffer, 100);
        //= read(fd=3 count=100) = 5 data='hello'
        sys(read, 3, buffer, 100);
        //= read(fd=3 count=100) = 0 data=''
        sys(read, 4, buffer, 1);
        //= read(fd=4 count=1) = EISDIR
        sys(read, 9, buffer, 1);
        //= read(fd=9 count=1) = EBADF
        sys(pread64, 3, buffer, 2, 1);
        //= pread64(fd=3 count=2 offset=1) = 2 data='el'
        sys(pread64, 3, buffer, 2, -1L);
        //= pread64(fd=3 count=2 offset=-1) = EINVAL
    }
    CASE("read: readv preadv preadv2") {
        struct iovec pieces[] = {{buffer, 2}, {buffer + 100, 2}};
        traced();
        sys(readv, 3, pieces, 2);
        //= readv(fd=3 count=4) = 4 data='hell'
        sys(readv, 3, BAD, 2);
        //= readv(fd=3 iov=-) = EFAULT
        sys(readv, 3, pieces, -1L);
        //= readv(fd=3 count=0) = EINVAL
        sys(preadv, 3, pieces, 2, 2, 0);
        //= preadv(fd=3 count=4 offset=2) = 3 data='llo'
        sys(preadv, 5, pieces, 2, 2, 0);
        //= preadv(fd=5 count=4 offset=2) = ESPIPE
        sys(preadv2, 3, pieces, 1, -1L, -1L, 0);
        //= preadv2(fd=3 count=2 offset=-1 flags=0) = 1 data='o'
        sys(preadv2, 3, pieces, 1, 0, 0, 0x10000);
        //= preadv2(fd=3 count=2 offset=0 flags=0x10000) = ENOTSUP
    }
    CASE("write: write pwrite64") {
        traced();
        sys(write, 3, "hello", 5);
        //= write(fd=3 data='hello') = 5
        sys(write, 3, "", 0);
        //= write(fd=3 data='') = 0
        sys(write, 4, "a", 1);
        //= write(fd=4 data='a') = EBADF
        sys(write, 3, BAD, 5);
        //= write(fd=3 data=-) = EFAULT
        sys(pwrite64, 3, "xyz", 3, 1L << 32);
        //= pwrite64(fd=3 data='xyz' offset=4294967296) = 3
        sys(pwrite64, 5, "xyz", 3, 0);
        //= pwrite64(fd=5 data='xyz' offset=0) = ESPIPE
    }
    CASE("write: writev pwritev pwritev2") {
        struct iovec pieces[] = {{buffer, 2}, {buffer + 100, 2}};
        memcpy(buffer, "abcd", 4);
        memcpy(buffer + 100, "efgh", 4);
        traced();
        sys(writev, 3, pieces, 2);
        //= writev(fd=3 data='abef') = 4
        sys(writev, 9, pieces, 1);
        //= writev(fd=9 data='ab') = EBADF
        sys(writev, 3, BAD, 1);
        //= writev(fd=3 iov=-) = EFAULT
        sys(pwritev, 3, pieces, 2, 1, 0);
        //= pwritev(fd=3 data='abef' offset=1) = 4
        sys(pwritev, 3, pieces, 2, -1L, -1L);
        //= pwritev(fd=3 data='abef' offset=-1) = EINVAL
        sys(pwritev2, 3, pieces, 2, -1L, -1L, 0x10);
        //= pwritev2(fd=3 data='abef' offset=-1 flags=RWF_APPEND) = 4
        sys(pwritev2, 3, pieces, 2, -1L, -1L, 0x10000);
        //= pwritev2(fd=3 data='abef' offset=-1 flags=0x10000) = ENOTSUP
    }
    CASE("close: close close_range") {
        traced();
        sys(close, 3);
        //= close(fd=3) = 0
        sys(close, 3);
        //= close(fd=3) = EBADF
        sys(close, -1);
        //= close(fd=-1) = EBADF
        sys(close_range, 4, ~0U, 4);
        //= close_range(fd=4 last=4294967295 flags=CLOSE_RANGE_CLOEXEC) = 0
        sys(close_range, 5, 4, 0);
        //= close_range(fd=5 last=4 flags=0) = EINVAL
        sys(close_range, 5, 5, 1);
        //= close_range(fd=5 last=5 flags=0x1) = EINVAL
    }
    CASE("seek: lseek") {
        traced();
        sys(lseek, 3, -1L, SEEK_END);
        //= lseek(fd=3 offset=-1 whence=SEEK_END) = 4
        sys(lseek, 3, 0, 9);
        //= lseek(fd=3 offset=0 whence=0x9) = EINVAL
        sys(lseek, 5, 0, SEEK_CUR);
        //= lseek(fd=5 offset=0 whence=SEEK_CUR) = ESPIPE
        sys(lseek, 9, 0, SEEK_SET);
        //= lseek(fd=9 offset=0 whence=SEEK_SET) = EBADF
    }
    CASE("dup: dup dup3 fcntl") {
        traced();
        sys(dup, 3);
        //= dup(oldfd=3) = 7
        sys(dup, 9);
        //= dup(oldfd=9) = EBADF
        sys(dup3, 3, 8, O_CLOEXEC);
        //= dup3(oldfd=3 newfd=8 flags=O_CLOEXEC) = 8
        sys(dup3, 3, 3, 0);
        //= dup3(oldfd=3 newfd=3 flags=0) = EINVAL
        sys(fcntl, 3, F_DUPFD, 20);
        //= fcntl(oldfd=3 command=F_DUPFD argument=20) = 20
        sys(fcntl, 3, F_DUPFD_CLOEXEC, -1);
        //= fcntl(oldfd=3 command=F_DUPFD_CLOEXEC argument=-1) = EINVAL
    }
#ifdef NR_dup2
    CASE("dup: dup2") {
        traced();
        sys(dup2, 3, 9);
        //= dup2(oldfd=3 newfd=9) = 9
        sys(dup2, 99, 9);
        //= dup2(oldfd=99 newfd=9) = EBADF
    }
#endif
    CASE("rename: renameat2 renameat") {
        traced();
        sys(renameat2, AT_FDCWD, "file", 4, "new", 0);
        //= renameat2(olddirfd=cwd oldpath=file newdirfd=4 newpath=new flags=0) = 0
        sys(renameat2, AT_FDCWD, "empty", AT_FDCWD, "link", 2);
        //= renameat2(olddirfd=cwd oldpath=empty newdirfd=cwd newpath=link flags=RENAME_EXCHANGE) = 0
        sys(renameat2, AT_FDCWD, "absent", 4, "new", 0);
        //= renameat2(olddirfd=cwd oldpath=absent newdirfd=4 newpath=new flags=0) = ENOENT
        sys(renameat2, AT_FDCWD, "link", AT_FDCWD, "empty", 1);
        //= renameat2(olddirfd=cwd oldpath=link newdirfd=cwd newpath=empty flags=RENAME_NOREPLACE) = EEXIST
        sys(renameat, AT_FDCWD, "folder", 4, "inside");
        //= renameat(olddirfd=cwd oldpath=folder newdirfd=4 newpath=inside) = EINVAL
        sys(renameat, 4, "new", AT_FDCWD, "file");
        //= renameat(olddirfd=4 oldpath=new newdirfd=cwd newpath=file) = 0
    }
#ifdef NR_rename
    CASE("rename: rename") {
        traced();
        sys(rename, "file", "link");
        //= rename(oldpath=file newpath=link) = 0
        sys(rename, "folder", "link");
        //= rename(oldpath=folder newpath=link) = ENOTDIR
    }
#endif
    CASE("link: linkat") {
        traced();
        sys(linkat, AT_FDCWD, "link", 4, "new", AT_SYMLINK_FOLLOW);
        //= linkat(olddirfd=cwd oldpath=link newdirfd=4 newpath=new flags=AT_SYMLINK_FOLLOW) = 0
        sys(linkat, AT_FDCWD, "absent", 4, "other", 0);
        //= linkat(olddirfd=cwd oldpath=absent newdirfd=4 newpath=other flags=0) = ENOENT
        sys(linkat, AT_FDCWD, "file", 4, "new", 0);
        //= linkat(olddirfd=cwd oldpath=file newdirfd=4 newpath=new flags=0) = EEXIST
    }
#ifdef NR_link
    CASE("link: link") {
        traced();
        sys(link, "file", "new");
        //= link(oldpath=file newpath=new) = 0
        sys(link, "folder", "other");
        //= link(oldpath=folder newpath=other) = EPERM
    }
#endif
    CASE("symlink: symlinkat") {
        traced();
        sys(symlinkat, "any text", 4, "new");
        //= symlinkat(target=any text dirfd=4 path=new) = 0
        sys(symlinkat, "", 4, "other");
        //= symlinkat(target= dirfd=4 path=other) = ENOENT
        sys(symlinkat, "file", AT_FDCWD, "link");
        //= symlinkat(target=file dirfd=cwd path=link) = EEXIST
    }
#ifdef NR_symlink
    CASE("symlink: symlink") {
        traced();
        sys(symlink, "file", "new");
        //= symlink(target=file path=new) = 0
        sys(symlink, "file", "absent/new");
        //= symlink(target=file path=absent/new) = ENOENT
    }
#endif
    CASE("unlink: unlinkat") {
        traced();
        sys(unlinkat, 4, "inner", 0);
        //= unlinkat(dirfd=4 path=inner flags=0) = 0
        sys(unlinkat, 4, "inner", 0);
        //= unlinkat(dirfd=4 path=inner flags=0) = ENOENT
        sys(unlinkat, AT_FDCWD, "empty", 0);
        //= unlinkat(dirfd=cwd path=empty flags=0) = EISDIR
        sys(unlinkat, AT_FDCWD, "file", 0x201);
        //= unlinkat(dirfd=cwd path=file flags=AT_REMOVEDIR|0x1) = EINVAL
    }
#ifdef NR_unlink
    CASE("unlink: unlink") {
        traced();
        sys(unlink, "link");
        //= unlink(path=link) = 0
        sys(unlink, "link");
        //= unlink(path=link) = ENOENT
    }
#endif
    CASE("rmdir: unlinkat") {
        traced();
        sys(unlinkat, AT_FDCWD, "empty", AT_REMOVEDIR);
        //= unlinkat(dirfd=cwd path=empty flags=AT_REMOVEDIR) = 0
        sys(unlinkat, AT_FDCWD, "folder", AT_REMOVEDIR);
        //= unlinkat(dirfd=cwd path=folder flags=AT_REMOVEDIR) = ENOTEMPTY
        sys(unlinkat, AT_FDCWD, "file", AT_REMOVEDIR);
        //= unlinkat(dirfd=cwd path=file flags=AT_REMOVEDIR) = ENOTDIR
    }
#ifdef NR_rmdir
    CASE("rmdir: rmdir") {
        traced();
        sys(rmdir, "empty");
        //= rmdir(path=empty) = 0
        sys(rmdir, "absent");
        //= rmdir(path=absent) = ENOENT
    }
#endif
    CASE("mkdir: mkdirat") {
        traced();
        sys(mkdirat, 4, "new", 0700);
        //= mkdirat(dirfd=4 path=new mode=0700) = 0
        sys(mkdirat, 4, "new", 0700);
        //= mkdirat(dirfd=4 path=new mode=0700) = EEXIST
        sys(mkdirat, 4, "inner/new", 0700);
        //= mkdirat(dirfd=4 path=inner/new mode=0700) = ENOTDIR
    }
#ifdef NR_mkdir
    CASE("mkdir: mkdir") {
        traced();
        sys(mkdir, "new", 0755);
        //= mkdir(path=new mode=0755) = 0
        sys(mkdir, "absent/new", 0);
        //= mkdir(path=absent/new mode=0000) = ENOENT
    }
#endif
    CASE("mknod: mknodat") {
        traced();
        sys(mknodat, AT_FDCWD, "new", S_IFIFO | 0600, 1);
        //= mknodat(dirfd=cwd path=new mode=010600) = 0
        sys(mknodat, AT_FDCWD, "new", S_IFREG | 0600, 1);
        //= mknodat(dirfd=cwd path=new mode=0100600) = EEXIST
        sys(mknodat, AT_FDCWD, "absent/new", S_IFCHR | 0600, 0x103);
        //= mknodat(dirfd=cwd path=absent/new mode=020600 device=259) = ENOENT
    }
#ifdef NR_mknod
    CASE("mknod: mknod") {
        traced();
        sys(mknod, "new", 0600, 0);
        //= mknod(path=new mode=0600) = 0
        sys(mknod, "file/new", 0600, 0);
        //= mknod(path=file/new mode=0600) = ENOTDIR
    }
#endif
    CASE("stat: newfstatat fstat") {
        traced();
        sys(newfstatat, AT_FDCWD, "link", buffer, 0);
        //= newfstatat(dirfd=cwd path=link flags=0) = 0 type=file permissions=0644 size=5 nlink=1
        sys(newfstatat, AT_FDCWD, "link", buffer, AT_SYMLINK_NOFOLLOW);
        //= newfstatat(dirfd=cwd path=link flags=AT_SYMLINK_NOFOLLOW) = 0 type=symlink permissions=0777
        sys(newfstatat, 4, "", buffer, AT_EMPTY_PATH);
        //= newfstatat(dirfd=4 path= flags=AT_EMPTY_PATH) = 0 type=directory permissions=0755
        sys(newfstatat, 4, "absent", buffer, 0);
        //= newfstatat(dirfd=4 path=absent flags=0) = ENOENT
        sys(newfstatat, 3, "absent", buffer, 0);
        //= newfstatat(dirfd=3 path=absent flags=0) = ENOTDIR
        sys(fstat, 3, buffer);
        //= fstat(fd=3) = 0 type=file permissions=0644 size=5 nlink=1
        sys(fstat, 9, buffer);
        //= fstat(fd=9) = EBADF
    }
    CASE("stat: statx") {
        traced();
        sys(statx, AT_FDCWD, "file", 0, 0x7ff, buffer);
        //= statx(dirfd=cwd path=file flags=0) = 0 type=file permissions=0644 size=5 nlink=1
        sys(statx, AT_FDCWD, "folder", AT_SYMLINK_NOFOLLOW, 0x7ff, buffer);
        //= statx(dirfd=cwd path=folder flags=AT_SYMLINK_NOFOLLOW) = 0 type=directory permissions=0755
        sys(statx, AT_FDCWD, "file", 0, 0x7ff, BAD);
        //= statx(dirfd=cwd path=file flags=0) = EFAULT
        sys(statx, AT_FDCWD, "file", 0x6000, 0x7ff, buffer);
        //= statx(dirfd=cwd path=file flags=AT_STATX_FORCE_SYNC|AT_STATX_DONT_SYNC) = EINVAL
    }
#ifdef NR_stat
    CASE("stat: stat lstat") {
        traced();
        sys(stat, "link", buffer);
        //= stat(path=link) = 0 type=file permissions=0644 size=5 nlink=1
        sys(stat, "absent", buffer);
        //= stat(path=absent) = ENOENT
        sys(lstat, "link", buffer);
        //= lstat(path=link) = 0 type=symlink permissions=0777
        sys(lstat, "file/x", buffer);
        //= lstat(path=file/x) = ENOTDIR
    }
#endif
    CASE("stat: statfs fstatfs") {
        traced();
        sys(statfs, ".", buffer);
        //= statfs(path=.) = 0
        sys(statfs, "absent", buffer);
        //= statfs(path=absent) = ENOENT
        sys(fstatfs, 3, buffer);
        //= fstatfs(fd=3) = 0
        sys(fstatfs, 9, buffer);
        //= fstatfs(fd=9) = EBADF
    }
    CASE("access: faccessat faccessat2") {
        traced();
        sys(faccessat, AT_FDCWD, "file", R_OK | W_OK);
        //= faccessat(dirfd=cwd path=file mode=R_OK|W_OK) = 0
        sys(faccessat, AT_FDCWD, "file", X_OK);
        //= faccessat(dirfd=cwd path=file mode=X_OK) = EACCES
        sys(faccessat, AT_FDCWD, "absent", F_OK);
        //= faccessat(dirfd=cwd path=absent mode=F_OK) = ENOENT
        sys(faccessat2, 4, "inner", R_OK, AT_EACCESS);
        //= faccessat2(dirfd=4 path=inner mode=R_OK flags=AT_EACCESS) = 0
        sys(faccessat2, 4, "inner", 8, AT_EACCESS);
        //= faccessat2(dirfd=4 path=inner mode=0x8 flags=AT_EACCESS) = EINVAL
    }
#ifdef NR_access
    CASE("access: access") {
        traced();
        sys(access, "folder", X_OK);
        //= access(path=folder mode=X_OK) = 0
        sys(access, "file/x", F_OK);
        //= access(path=file/x mode=F_OK) = ENOTDIR
    }
#endif
    CASE("readlink: readlinkat") {
        traced();
        sys(readlinkat, AT_FDCWD, "link", buffer, 100);
        //= readlinkat(dirfd=cwd path=link count=100) = 4 target=file
        sys(readlinkat, AT_FDCWD, "link", buffer, 2);
        //= readlinkat(dirfd=cwd path=link count=2) = 2 target=fi
        sys(readlinkat, AT_FDCWD, "file", buffer, 100);
        //= readlinkat(dirfd=cwd path=file count=100) = EINVAL
        sys(readlinkat, 4, "absent", buffer, 100);
        //= readlinkat(dirfd=4 path=absent count=100) = ENOENT
    }
#ifdef NR_readlink
    CASE("readlink: readlink") {
        traced();
        sys(readlink, "link", buffer, 9);
        //= readlink(path=link count=9) = 4 target=file
        sys(readlink, "link", buffer, 0);
        //= readlink(path=link count=0) = EINVAL
    }
#endif
    CASE("listing: getdents64") {
        traced();
        sys(getdents64, 4, buffer, 1000);
        //= getdents64(fd=4 count=1000) = N names=inner
        sys(getdents64, 4, buffer, 1000);
        //= getdents64(fd=4 count=1000) = N names=
        sys(getdents64, 3, buffer, 1000);
        //= getdents64(fd=3 count=1000) = ENOTDIR
        sys(getdents64, 9, buffer, 1000);
        //= getdents64(fd=9 count=1000) = EBADF
    }
#ifdef NR_getdents
    CASE("listing: getdents") {
        traced();
        sys(getdents, 4, buffer, 1000);
        //= getdents(fd=4 count=1000) = N names=inner
        sys(getdents, 4, buffer, 1000);
        //= getdents(fd=4 count=1000) = N names=
    }
#endif
    CASE("truncate: ftruncate truncate") {
        traced();
        sys(ftruncate, 3, 1L << 33);
        //= ftruncate(fd=3 length=8589934592) = 0
        sys(ftruncate, 4, 1);
        //= ftruncate(fd=4 length=1) = EINVAL
        sys(ftruncate, 9, 1);
        //= ftruncate(fd=9 length=1) = EBADF
        sys(truncate, "file", 2);
        //= truncate(path=file length=2) = 0
        sys(truncate, "folder", 2);
        //= truncate(path=folder length=2) = EISDIR
        sys(truncate, "file", -1L);
        //= truncate(path=file length=-1) = EINVAL
    }
    CASE("allocate: fallocate") {
        traced();
        sys(fallocate, 3, FALLOC_FL_KEEP_SIZE, 0, 10000L);
        //= fallocate(fd=3 flags=FALLOC_FL_KEEP_SIZE offset=0 length=10000) = 0
        sys(fallocate, 3, 0, 0, 0L);
        //= fallocate(fd=3 flags=0 offset=0 length=0) = EINVAL
        sys(fallocate, 5, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 1L);
        //= fallocate(fd=5 flags=FALLOC_FL_KEEP_SIZE|FALLOC_FL_PUNCH_HOLE offset=0 length=1) = EBADF
    }
    CASE("sync: fsync fdatasync sync_file_range syncfs") {
        traced();
        sys(fsync, 3);
        //= fsync(fd=3) = 0
        sys(fsync, 5);
        //= fsync(fd=5) = EINVAL
        sys(fsync, 9);
        //= fsync(fd=9) = EBADF
        sys(fdatasync, 3);
        //= fdatasync(fd=3) = 0
        sys(sync_file_range, 3, 1, 2, 2);
        //= sync_file_range(fd=3 offset=1 length=2 flags=SYNC_FILE_RANGE_WRITE) = 0
        sys(sync_file_range, 3, 1, 2, 8);
        //= sync_file_range(fd=3 offset=1 length=2 flags=0x8) = EINVAL
        sys(syncfs, 9);
        //= syncfs(fd=9) = EBADF
    }
    CASE("chmod: fchmodat fchmod") {
        traced();
        sys(fchmodat, AT_FDCWD, "link", 04711);
        //= fchmodat(dirfd=cwd path=link mode=04711) = 0
        sys(fchmodat, AT_FDCWD, "absent", 0);
        //= fchmodat(dirfd=cwd path=absent mode=0000) = ENOENT
        sys(fchmodat, 3, "x", 0600);
        //= fchmodat(dirfd=3 path=x mode=0600) = ENOTDIR
        sys(fchmod, 3, 0600);
        //= fchmod(fd=3 mode=0600) = 0
        sys(fchmod, 9, 0600);
        //= fchmod(fd=9 mode=0600) = EBADF
    }
    CASE("chmod: fchmodat2") {
        traced();
        sys(fchmodat2, AT_FDCWD, "file", 0600, AT_SYMLINK_NOFOLLOW);
        //= fchmodat2(dirfd=cwd path=file mode=0600 flags=AT_SYMLINK_NOFOLLOW) = 0
        sys(fchmodat2, AT_FDCWD, "file", 0600, 1);
        //= fchmodat2(dirfd=cwd path=file mode=0600 flags=0x1) = EINVAL
    }
#ifdef NR_chmod
    CASE("chmod: chmod") {
        traced();
        sys(chmod, "file", 0600);
        //= chmod(path=file mode=0600) = 0
        sys(chmod, "absent", 0600);
        //= chmod(path=absent mode=0600) = ENOENT
    }
#endif
    CASE("chown: fchownat fchown") {
        traced();
        sys(fchownat, 4, "inner", getuid(), -1, AT_SYMLINK_NOFOLLOW);
        //= fchownat(dirfd=4 path=inner uid={uid} gid=-1 flags=AT_SYMLINK_NOFOLLOW) = 0
        sys(fchownat, 4, "absent", -1, -1, 0);
        //= fchownat(dirfd=4 path=absent uid=-1 gid=-1 flags=0) = ENOENT
        sys(fchownat, 9, "inner", -1, -1, 0);
        //= fchownat(dirfd=9 path=inner uid=-1 gid=-1 flags=0) = EBADF
        sys(fchown, 3, -1, -1);
        //= fchown(fd=3 uid=-1 gid=-1) = 0
        sys(fchown, 9, -1, -1);
        //= fchown(fd=9 uid=-1 gid=-1) = EBADF
    }
#ifdef NR_chown
    CASE("chown: chown lchown") {
        traced();
        sys(chown, "link", -1, -1);
        //= chown(path=link uid=-1 gid=-1) = 0
        sys(chown, "absent", -1, -1);
        //= chown(path=absent uid=-1 gid=-1) = ENOENT
        sys(lchown, "link", -1, -1);
        //= lchown(path=link uid=-1 gid=-1) = 0
        sys(lchown, "file/x", -1, -1);
        //= lchown(path=file/x uid=-1 gid=-1) = ENOTDIR
    }
#endif
    CASE("utimes: utimensat") {
        struct timespec times[] = {{1, 2}, {3, 4}};
        traced();
        sys(utimensat, AT_FDCWD, "file", times, AT_SYMLINK_NOFOLLOW);
        //= utimensat(dirfd=cwd path=file times=1.000000002 3.000000004 flags=AT_SYMLINK_NOFOLLOW) = 0
        sys(utimensat, 3, NULL, NULL, 0);
        //= utimensat(dirfd=3 path=- times=now flags=0) = 0
        times[0].tv_nsec = UTIME_NOW;
        times[1].tv_nsec = UTIME_OMIT;
        sys(utimensat, 4, "inner", times, 0);
        //= utimensat(dirfd=4 path=inner times=now omit flags=0) = 0
        sys(utimensat, 4, "absent", NULL, 0);
        //= utimensat(dirfd=4 path=absent times=now flags=0) = ENOENT
        sys(utimensat, 4, "inner", BAD, 0);
        //= utimensat(dirfd=4 path=inner times=- flags=0) = EFAULT
    }
#ifdef NR_utime
    CASE("utimes: utime utimes futimesat") {
        struct timeval times[] = {{1, 2}, {3, 4}};
        time_t seconds[] = {5, 6};
        traced();
        sys(utime, "file", seconds);
        //= utime(path=file times=5 6) = 0
        sys(utime, "absent", NULL);
        //= utime(path=absent times=now) = ENOENT
        sys(utimes, "file", times);
        //= utimes(path=file times=1.000002 3.000004) = 0
        sys(utimes, "absent", NULL);
        //= utimes(path=absent times=now) = ENOENT
        sys(futimesat, 4, "inner", times);
        //= futimesat(dirfd=4 path=inner times=1.000002 3.000004) = 0
        sys(futimesat, 4, "absent", NULL);
        //= futimesat(dirfd=4 path=absent times=now) = ENOENT
    }
#endif
    CASE("setxattr: fsetxattr setxattr lsetxattr fremovexattr removexattr lremovexattr") {
        traced();
        sys(fsetxattr, 3, "user.a", "one", 3, 0);
        //= fsetxattr(fd=3 name=user.a value='one' option=0) = 0
        sys(setxattr, "link", "user.b", "two", 3, XATTR_CREATE);
        //= setxattr(path=link name=user.b value='two' option=XATTR_CREATE) = 0
        sys(setxattr, "file", "user.a", "x", 1, XATTR_CREATE);
        //= setxattr(path=file name=user.a value='x' option=XATTR_CREATE) = EEXIST
        sys(lsetxattr, "file", "user.c", "x", 1, XATTR_REPLACE);
        //= lsetxattr(path=file name=user.c value='x' option=XATTR_REPLACE) = ENODATA
        sys(lsetxattr, "file", "user.b", BAD, 1, 0);
        //= lsetxattr(path=file name=user.b value=- option=0) = EFAULT
        sys(fremovexattr, 3, "user.a");
        //= fremovexattr(fd=3 name=user.a) = 0
        sys(removexattr, "link", "user.b");
        //= removexattr(path=link name=user.b) = 0
        sys(lremovexattr, "file", "user.b");
        //= lremovexattr(path=file name=user.b) = ENODATA
    }
    CASE("setxattr: setxattrat removexattrat") {
        struct { uint64_t p; uint32_t n, f; } value = {(uintptr_t)"one", 3, XATTR_CREATE};
        traced();
        sys(setxattrat, 4, "../file", 0, "user.a", &value, 16);
        //= setxattrat(dirfd=4 path=../file flags=0 name=user.a value='one' option=XATTR_CREATE) = 0
        sys(setxattrat, 4, "../file", 0, "user.a", BAD, 16);
        //= setxattrat(dirfd=4 path=../file flags=0 name=user.a xattr=-) = EFAULT
        sys(removexattrat, AT_FDCWD, "file", AT_SYMLINK_NOFOLLOW, "user.a");
        //= removexattrat(dirfd=cwd path=file flags=AT_SYMLINK_NOFOLLOW name=user.a) = 0
        sys(removexattrat, AT_FDCWD, "file", AT_SYMLINK_NOFOLLOW, "user.a");
        //= removexattrat(dirfd=cwd path=file flags=AT_SYMLINK_NOFOLLOW name=user.a) = ENODATA
    }
    CASE("setxattr: file_setattr ioctl") {
        traced();
        sys(file_setattr, AT_FDCWD, "absent", buffer, 24, 0);
        //= file_setattr(dirfd=cwd path=absent flags=0) = ENOENT
        sys(ioctl, 9, 0x40086602, buffer);
        //= ioctl(fd=9 request=FS_IOC_SETFLAGS) = EBADF
        sys(ioctl, 9, 0x401c5820, buffer);
        //= ioctl(fd=9 request=FS_IOC_FSSETXATTR) = EBADF
    }
    CASE("getxattr: fgetxattr getxattr lgetxattr listxattr llistxattr flistxattr") {
        fsetxattr(3, "user.a", "one", 3, 0);
        traced();
        sys(fgetxattr, 3, "user.a", buffer, 100);
        //= fgetxattr(fd=3 name=user.a count=100) = 3 data='one'
        sys(getxattr, "link", "user.a", NULL, 0);
        //= getxattr(path=link name=user.a count=0) = 3
        sys(getxattr, "file", "user.a", buffer, 1);
        //= getxattr(path=file name=user.a count=1) = ERANGE
        sys(lgetxattr, "file", "user.c", buffer, 100);
        //= lgetxattr(path=file name=user.c count=100) = ENODATA
        sys(listxattr, "link", buffer, 100);
        //= listxattr(path=link count=100) = 7 names=user.a
        sys(llistxattr, "absent", buffer, 100);
        //= llistxattr(path=absent count=100) = ENOENT
        sys(flistxattr, 3, NULL, 0);
        //= flistxattr(fd=3 count=0) = 7
    }
    CASE("getxattr: getxattrat listxattrat") {
        struct { uint64_t p; uint32_t n, f; } value = {(uintptr_t)buffer, 100, 0};
        fsetxattr(3, "user.a", "one", 3, 0);
        traced();
        sys(getxattrat, AT_FDCWD, "file", 0, "user.a", &value, 16);
        //= getxattrat(dirfd=cwd path=file flags=0 name=user.a count=100) = 3 data='one'
        sys(getxattrat, AT_FDCWD, "file", 0, "user.b", &value, 16);
        //= getxattrat(dirfd=cwd path=file flags=0 name=user.b count=100) = ENODATA
        sys(listxattrat, AT_FDCWD, "file", AT_SYMLINK_NOFOLLOW, buffer, 100);
        //= listxattrat(dirfd=cwd path=file flags=AT_SYMLINK_NOFOLLOW count=100) = 7 names=user.a
        sys(listxattrat, AT_FDCWD, "absent", 0, buffer, 100);
        //= listxattrat(dirfd=cwd path=absent flags=0 count=100) = ENOENT
    }
    CASE("getxattr: file_getattr ioctl") {
        traced();
        sys(file_getattr, AT_FDCWD, "absent", buffer, 24, 0);
        //= file_getattr(dirfd=cwd path=absent flags=0) = ENOENT
        sys(ioctl, 9, 0x80086601, buffer);
        //= ioctl(fd=9 request=FS_IOC_GETFLAGS) = EBADF
        sys(ioctl, 9, 0x801c581f, buffer);
        //= ioctl(fd=9 request=FS_IOC_FSGETXATTR) = EBADF
    }
    CASE("copy: copy_file_range sendfile") {
        int new = open("new", O_RDWR | O_CREAT, 0600);
        int64_t from = 1;
        traced();
        sys(copy_file_range, 3, &from, new, NULL, 100L, 0);
        //= copy_file_range(infd=3 inoffset=1 outfd=7 count=100 flags=0) = 4
        sys(copy_file_range, 3, NULL, new, BAD, 100L, 0);
        //= copy_file_range(infd=3 outfd=7 outoffset=- count=100 flags=0) = EFAULT
        sys(copy_file_range, 3, NULL, 9, NULL, 100L, 0);
        //= copy_file_range(infd=3 outfd=9 count=100 flags=0) = EBADF
        sys(sendfile, new, 3, NULL, 2L);
        //= sendfile(outfd=7 infd=3 count=2) = 2
        sys(sendfile, new, 3, &from, 100L);
        //= sendfile(outfd=7 infd=3 inoffset=5 count=100) = 0
        sys(sendfile, 9, 3, NULL, 2L);
        //= sendfile(outfd=9 infd=3 count=2) = EBADF
    }
    CASE("copy: splice tee ioctl") {
        int other[2];
        int64_t from = 1, range[] = {3, 1, 2, 4};
        if (pipe(other) < 0) return 2;
        traced();
        sys(splice, 3, NULL, 6, NULL, 5L, 1);
        //= splice(infd=3 outfd=6 count=5 flags=SPLICE_F_MOVE) = 5
        sys(splice, 3, NULL, 6, &from, 5L, 0);
        //= splice(infd=3 outfd=6 outoffset=1 count=5 flags=0) = ESPIPE
        sys(tee, 5, other[1], 2L, 2);
        //= tee(infd=5 outfd=8 count=2 flags=SPLICE_F_NONBLOCK) = 2
        sys(tee, 5, 3, 2L, 0);
        //= tee(infd=5 outfd=3 count=2 flags=0) = EINVAL
        sys(ioctl, 9, 0x40049409, 3);
        //= ioctl(outfd=9 request=FICLONE infd=3) = EBADF
        sys(ioctl, 9, 0x4020940d, range);
        //= ioctl(outfd=9 request=FICLONERANGE infd=3 inoffset=1 count=2 outoffset=4) = EBADF
        sys(ioctl, 9, 0x4020940d, BAD);
        //= ioctl(outfd=9 request=FICLONERANGE range=-) = EBADF
    }
    CASE("flock: flock") {
        int other = open("file", O_RDWR);
        traced();
        sys(flock, 3, LOCK_SH | LOCK_NB);
        //= flock(fd=3 command=LOCK_SH|LOCK_NB) = 0
        sys(flock, other, LOCK_EX | LOCK_NB);
        //= flock(fd=7 command=LOCK_EX|LOCK_NB) = EAGAIN
        sys(flock, 3, LOCK_UN);
        //= flock(fd=3 command=LOCK_UN) = 0
        sys(flock, 3, 0);
        //= flock(fd=3 command=0) = EINVAL
        sys(flock, 9, LOCK_EX);
        //= flock(fd=9 command=LOCK_EX) = EBADF
    }
    CASE("lock: fcntl") {
        struct flock lock = {F_WRLCK, SEEK_SET, 1, 2};
        int other = open("file", O_RDWR);
        fcntl(other, F_OFD_SETLK, &lock);
        traced();
        lock.l_type = F_RDLCK;
        lock.l_len = 0;
        sys(fcntl, 3, F_GETLK, &lock);
        //= fcntl(fd=3 command=F_GETLK type=F_RDLCK whence=SEEK_SET start=1 length=0) = 0 type=F_WRLCK whence=SEEK_SET start=1 length=2
        sys(fcntl, 3, F_SETLK, &lock);
        //= fcntl(fd=3 command=F_SETLK type=F_WRLCK whence=SEEK_SET start=1 length=2) = EAGAIN
        sys(fcntl, 9, F_SETLKW, &lock);
        //= fcntl(fd=9 command=F_SETLKW type=F_WRLCK whence=SEEK_SET start=1 length=2) = EBADF
        sys(fcntl, other, F_OFD_SETLK, &lock);
        //= fcntl(fd=7 command=F_OFD_SETLK type=F_WRLCK whence=SEEK_SET start=1 length=2) = EINVAL
        sys(fcntl, 3, F_OFD_SETLKW, BAD);
        //= fcntl(fd=3 command=F_OFD_SETLKW lock=-) = EFAULT
        lock.l_start = 9;
        sys(fcntl, 3, F_OFD_GETLK, &lock);
        //= fcntl(fd=3 command=F_OFD_GETLK type=F_WRLCK whence=SEEK_SET start=9 length=2) = EINVAL
    }
    CASE("lock: fcntl when free") {
        struct flock lock = {F_WRLCK, SEEK_SET, 1, 2};
        struct flock free = {F_RDLCK, SEEK_END, -1, 1};
        traced();
        sys(fcntl, 3, F_SETLKW, &lock);
        //= fcntl(fd=3 command=F_SETLKW type=F_WRLCK whence=SEEK_SET start=1 length=2) = 0
        sys(fcntl, 3, F_OFD_GETLK, &free);
        //= fcntl(fd=3 command=F_OFD_GETLK type=F_RDLCK whence=SEEK_END start=-1 length=1) = 0 type=F_UNLCK whence=SEEK_END start=-1 length=1
    }
    CASE("chdir: chdir fchdir") {
        traced();
        sys(chdir, "folder");
        //= chdir(path=folder) = 0
        sys(chdir, "absent");
        //= chdir(path=absent) = ENOENT
        sys(chdir, "inner");
        //= chdir(path=inner) = ENOTDIR
        sys(fchdir, 4);
        //= fchdir(fd=4) = 0
        sys(fchdir, 3);
        //= fchdir(fd=3) = ENOTDIR
    }
    CASE("getcwd: getcwd") {
        traced();
        sys(getcwd, buffer, 4096L);
        //= getcwd(count=4096) = N path={box}
        sys(getcwd, buffer, 2L);
        //= getcwd(count=2) = ERANGE
        sys(getcwd, BAD, 4096L);
        //= getcwd(count=4096) = EFAULT
    }
    CASE("exec: execve execveat") {
        traced();
        sys(execve, "absent", NULL, NULL);
        //= execve(path=absent) = ENOENT
        sys(execve, "file", NULL, NULL);
        //= execve(path=file) = EACCES
        sys(execveat, 4, "inner", NULL, NULL, AT_SYMLINK_NOFOLLOW);
        //= execveat(dirfd=4 path=inner flags=AT_SYMLINK_NOFOLLOW) = EACCES
        sys(execve, "/proc/self/exe", (char *[]){"x", NULL}, NULL);
        //= execve(path=/proc/self/exe) = 0
    }
    CASE("map: mmap") {
        traced();
        sys(mmap, NULL, 5L, PROT_READ, MAP_PRIVATE, 3, 0L);
        //= mmap(length=5 protection=PROT_READ flags=MAP_PRIVATE fd=3 offset=0) = N
        sys(mmap, NULL, 5L, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, 9, 0L);
        //= mmap(length=5 protection=PROT_READ|PROT_WRITE flags=MAP_SHARED|MAP_POPULATE fd=9 offset=0) = EBADF
        sys(mmap, NULL, 5L, PROT_NONE, MAP_PRIVATE | MAP_DENYWRITE, 4, 4096L);
        //= mmap(length=5 protection=0 flags=MAP_PRIVATE|MAP_DENYWRITE fd=4 offset=4096) = ENODEV
    }
    CASE("other: fcntl ioctl vmsplice") {
        traced();
        sys(fcntl, 3, F_SETFD, FD_CLOEXEC);
        //= fcntl(fd=3 command=F_SETFD argument=FD_CLOEXEC) = 0
        sys(fcntl, 3, F_SETFL, O_APPEND | O_NONBLOCK);
        //= fcntl(fd=3 command=F_SETFL argument=O_RDONLY|O_APPEND|O_NONBLOCK) = 0
        sys(fcntl, 3, F_ADD_SEALS, 64);
        //= fcntl(fd=3 command=F_ADD_SEALS argument=64) = EINVAL
        sys(fcntl, 9, F_SETFD, 0);
        //= fcntl(fd=9 command=F_SETFD argument=0) = EBADF
        sys(ioctl, 3, FIOCLEX);
        //= ioctl(fd=3 request=FIOCLEX) = 0
        sys(ioctl, 9, FIONCLEX);
        //= ioctl(fd=9 request=FIONCLEX) = EBADF
        sys(ioctl, 9, 0xc0189436, buffer);
        //= ioctl(infd=9 request=FIDEDUPERANGE) = EBADF
        sys(vmsplice, 9, NULL, 0L, 8);
        //= vmsplice(fd=9 flags=SPLICE_F_GIFT) = EBADF
    }
    CASE("exit: exit_group") {
        traced();
        sys(exit_group, 7);
        //= exit_group(status=7) = ?
    }
    CASE("exit: exit") {
        traced();
        sys(exit, -1);
        //= exit(status=-1) = ?
    }
    CASE("sync: sync") {
        traced();
        sys(sync);
        //= sync() = 0
    }

    syscall(SYS_exit_group, 0);
}
