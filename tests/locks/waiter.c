/* Wait for a lock, with an alarm that goes off after a minute; say what came of it.

   waiter FILE flock|posix|ofd restart|interrupt
*/
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;

static void count(int number)
{
    (void)number;
    alarms++;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    struct sigaction action = {.sa_handler = count};
    if (strcmp(argv[3], "restart") == 0)
        action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    int fd = open(argv[1], O_RDWR | O_CREAT, 0644);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    alarm(60);
    int result;
    if (strcmp(argv[2], "flock") == 0) {
        result = flock(fd, LOCK_EX);
    } else {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        result = fcntl(fd, strcmp(argv[2], "ofd") ? F_SETLKW : F_OFD_SETLKW, &lock);
    }
    int error = result < 0 ? errno : 0;
    clock_gettime(CLOCK_MONOTONIC, &after);
    printf("%s after %ld s with %d alarms\n", error ? strerror(error) : "got it",
           (long)(after.tv_sec - before.tv_sec), (int)alarms);
    return 0;
}
