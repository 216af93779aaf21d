/* Children of every kind, which write as they begin and as they end.

   children FOLDER: forks a child that forks another; starts one by vfork that executes
   this program as `children FOLDER executed`; spawns one more; and writes down to
   FOLDER/log, in the order in which it learns of them, how each ended. */

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *folder;

static void note(const char *name, const char *text) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
        _exit(99);
    close(file);
}

static void child(void) {
    note("child", "begins\n");
    pid_t grandchild = fork();
    if (grandchild == 0) {
        note("grandchild", "here\n");
        _exit(3);
    }
    int status;
    if (waitpid(grandchild, &status, 0) != grandchild || WEXITSTATUS(status) != 3)
        _exit(98);
    note("child", "ends\n");
    _exit(4);
}

int main(int count, char **arguments) {
    char line[64];
    if (count < 2)
        return 2;
    folder = arguments[1];
    if (count > 2) {
        note(arguments[2], "here\n");
        return 5;
    }
    if (fork() == 0)
        child();
    char *executed[] = {arguments[0], arguments[1], "executed", NULL};
    char *spawned[] = {arguments[0], arguments[1], "spawned", NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        execv(arguments[0], executed);
        _exit(97);
    }
    if (posix_spawn(&pid, arguments[0], NULL, NULL, spawned, environ) != 0)
        return 1;
    for (int left = 3; left; left--) {
        int status;
        pid = wait(&status);
        snprintf(line, sizeof line, "%d %d\n", (int)pid, WEXITSTATUS(status));
        note("log", line);
    }
    return 0;
}
