/* Writes a file in the handler of a signal: a temp file, then a rename.
 *
 * handler shared|pid raise|alarm FILE; with "alarm" the signal comes while it computes
 * or waits.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char temp[4096];
static const char *file;
static volatile sig_atomic_t status = -1;

static void publish(int number) {
    int descriptor = open(temp, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    (void)number;
    status = 1;
    if (descriptor < 0) return;
    if (write(descriptor, "begin ", 6) != 6 || write(descriptor, "end", 3) != 3) return;
    if (close(descriptor) != 0 || rename(temp, file) != 0) return;
    status = 0;
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = publish};

    if (argc != 4) return 2;
    file = argv[3];
    if (strcmp(argv[1], "pid") == 0)
        snprintf(temp, sizeof temp, "%s.tmp.%d", file, (int)getpid());
    else
        snprintf(temp, sizeof temp, "%s.tmp", file);
    if (sigaction(SIGUSR1, &action, NULL) || sigaction(SIGALRM, &action, NULL)) return 2;
    if (strcmp(argv[2], "raise") == 0)
        raise(SIGUSR1);
    else
        alarm(1);
    while (status < 0) pause();
    return status;
}
