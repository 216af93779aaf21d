/* What programs are told of signals: each question is an argument, and its answer goes
   to standard output. Ids are given by whose they are, so that the answers are the same
   for all ids. A child asks and sends in between by pipes, not by time. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t handled, code, sender, in_thread, value;

static void handler(int number, siginfo_t *info, void *context) {
    (void)context;
    handled = number;
    code = info->si_code;
    sender = info->si_pid;
    value = info->si_value.sival_int;
    in_thread = (int)syscall(SYS_gettid);
}

static void install(int number, int flags) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    sigaction(number, &action, NULL);
}

static void block(int number, int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(how, &set, NULL);
}

static const char *whose(pid_t id, pid_t child) {
    return id == child ? "child" : id == getpid() ? "self" : id == getppid() ? "parent"
         : id == 0 ? "none" : id == 1 ? "init" : "other";
}

static void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
    fflush(stdout);
}

static void nap(void) {
    struct timespec tenth = {0, 100000000};
    nanosleep(&tenth, NULL);
}

/* A child that sends SIGUSR1 after a while, and ends after another. */
static pid_t sender_of(int number) {
    pid_t pid = fork();
    if (pid == 0) {
        nap();
        kill(getppid(), number);
        nap();
        _exit(7);
    }
    return pid;
}

static void calls(int flags) {
    int ends[2], status;
    char byte;
    install(SIGUSR1, flags);

    pid_t child = sender_of(SIGUSR1);
    pid_t found = waitpid(child, &status, 0);
    say("waitpid %s %d\n", found == child ? "child" : strerror(errno), handled);
    if (found != child)
        waitpid(child, &status, 0);

    handled = 0;
    if (pipe(ends))
        exit(1);
    child = sender_of(SIGUSR1);
    close(ends[1]);
    if (pipe(ends))
        exit(1);
    pid_t writer = fork();
    if (writer == 0) {
        nap(), nap(), nap();
        _exit(write(ends[1], "x", 1) != 1);
    }
    ssize_t got = read(ends[0], &byte, 1);
    say("read %s %d\n", got == 1 ? "byte" : strerror(errno), handled);
    waitpid(child, NULL, 0), waitpid(writer, NULL, 0);

    handled = 0;
    child = sender_of(SIGUSR1);
    struct timespec three = {3, 0}, left = {9, 9};
    int slept = nanosleep(&three, &left);
    say("nanosleep %s %d, %ld s left\n", slept ? strerror(errno) : "slept", handled,
        (long)left.tv_sec);
    waitpid(child, NULL, 0);

    handled = 0;
    child = sender_of(SIGUSR1);
    struct pollfd nothing = {ends[0], POLLIN, 0};
    int ready = poll(&nothing, 1, 400);
    say("poll %s %d\n", ready < 0 ? strerror(errno) : "timeout", handled);
    waitpid(child, NULL, 0);

    handled = 0;
    child = sender_of(SIGUSR1);
    int paused = pause();
    say("pause %s %d\n", paused < 0 ? strerror(errno) : "?", handled);
    waitpid(child, NULL, 0);

    sem_t semaphore;
    sem_init(&semaphore, 0, 0);
    handled = 0;
    child = sender_of(SIGUSR1);
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 1;
    int taken = sem_timedwait(&semaphore, &soon);
    say("sem_timedwait %s %d\n", taken ? strerror(errno) : "?", handled);
    waitpid(child, NULL, 0);

    handled = 0;
    child = sender_of(SIGUSR1);
    siginfo_t info;
    memset(&info, 0, sizeof info);
    int waited = waitid(P_PID, (id_t)child, &info, WEXITED);
    say("waitid %s %d, %s %d %d\n", waited ? strerror(errno) : "child", handled,
        waited ? "-" : whose(info.si_pid, child), waited ? 0 : info.si_status,
        waited ? 0 : info.si_code);
    if (waited)
        waitpid(child, NULL, 0);
}

static void information(void) {
    siginfo_t info;
    sigset_t set;
    install(SIGUSR1, 0);
    install(SIGCHLD, SA_RESTART);

    pid_t child = sender_of(SIGUSR1);
    pause();
    say("kill: code %d from %s\n", code, whose(sender, child));
    pause();
    say("exit: signal %d code %d from %s\n", handled, code, whose(sender, child));
    waitpid(child, NULL, 0);
    signal(SIGCHLD, SIG_DFL);

    child = fork();
    if (child == 0) {
        union sigval seven = {.sival_int = 7};
        nap();
        _exit(sigqueue(getppid(), SIGUSR1, seven) != 0);
    }
    pause();
    say("sigqueue: code %d from %s, value %d\n", code, whose(sender, child), value);
    waitpid(child, NULL, 0);

    raise(SIGUSR1);
    say("raise: code %d from %s\n", code, whose(sender, -1));
    kill(getpid(), SIGUSR1);
    say("kill itself: code %d from %s\n", code, whose(sender, -1));

    block(SIGUSR1, SIG_BLOCK);
    child = sender_of(SIGUSR1);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    int number = sigwaitinfo(&set, &info);
    say("sigwaitinfo: %d code %d from %s\n", number, info.si_code,
        whose(info.si_pid, child));
    waitpid(child, NULL, 0);

    struct timespec tenth = {0, 100000000};
    number = sigtimedwait(&set, &info, &tenth);
    say("sigtimedwait: %s\n", number < 0 ? strerror(errno) : "?");

    child = sender_of(SIGUSR1);
    int waited = sigwait(&set, &number);
    say("sigwait: %d %d\n", waited, number);
    waitpid(child, NULL, 0);

    handled = 0;
    child = sender_of(SIGUSR1);
    sigfillset(&set);
    sigdelset(&set, SIGUSR1);
    int suspended = sigsuspend(&set);
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    say("sigsuspend: %s %d from %s, blocked again %d\n",
        suspended ? strerror(errno) : "?", handled, whose(sender, child),
        sigismember(&now, SIGUSR1));
    waitpid(child, NULL, 0);

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    int descriptor = signalfd(-1, &set, 0);
    child = sender_of(SIGUSR1);
    struct signalfd_siginfo read_info;
    ssize_t got = read(descriptor, &read_info, sizeof read_info);
    say("signalfd: %d %d from %s\n", got == sizeof read_info, (int)read_info.ssi_signo,
        whose((pid_t)read_info.ssi_pid, child));
    waitpid(child, NULL, 0);

    alarm(1);
    block(SIGUSR1, SIG_UNBLOCK);
    install(SIGALRM, 0);
    pause();
    say("alarm: signal %d code %d from %s\n", handled, code, whose(sender, -1));
}

static pthread_barrier_t barrier;
static volatile int thread_id, thread_done;
static sem_t finish;

static void *waiting(void *blocking) {
    if (blocking)
        block(SIGUSR1, SIG_BLOCK);
    thread_id = (int)syscall(SYS_gettid);
    pthread_barrier_wait(&barrier);
    sem_wait(&finish);
    return NULL;
}

static const char *which(int id) {
    return id == thread_id ? "thread" : id == getpid() ? "first" : "none";
}

static void threads(void) {
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&finish, 0, 0);
    install(SIGUSR1, SA_RESTART);

    pthread_create(&thread, NULL, waiting, NULL);
    pthread_barrier_wait(&barrier);
    in_thread = 0;
    pthread_kill(thread, SIGUSR1);
    while (!in_thread)
        nap();
    say("pthread_kill: in %s, code %d\n", which(in_thread), code);

    in_thread = 0;
    pid_t child = sender_of(SIGUSR1);
    while (!in_thread)
        nap();
    say("kill: in %s, code %d from %s\n", which(in_thread), code, whose(sender, child));
    waitpid(child, NULL, 0);

    in_thread = 0;
    block(SIGUSR1, SIG_BLOCK);
    child = sender_of(SIGUSR1);
    while (!in_thread)
        nap();
    say("kill, first blocks: in %s\n", which(in_thread));
    waitpid(child, NULL, 0);
    block(SIGUSR1, SIG_UNBLOCK);
    sem_post(&finish);
    pthread_join(thread, NULL);

    pthread_create(&thread, NULL, waiting, &barrier);
    pthread_barrier_wait(&barrier);
    in_thread = 0;
    kill(getpid(), SIGUSR1);
    say("kill itself, thread blocks: in %s\n", which(in_thread));
    sem_post(&finish);
    pthread_join(thread, NULL);
    /* Who joins a thread is woken a moment before the kernel has put it away. */
    int gone = 0;
    for (int tries = 0; tries < 1000 && !gone; tries++) {
        gone = syscall(SYS_tgkill, getpid(), thread_id, 0);
        if (!gone)
            nap();
    }
    say("no such thread: %s\n", gone ? strerror(errno) : "there");
}

static void groups(void) {
    int ends[2], status;
    char byte;
    if (pipe(ends))
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    if (read(ends[0], &byte, 1) != 1)
        exit(1);
    say("group of child: %s\n", whose(getpgid(child), child));
    say("session of child: %s\n", getsid(child) == getsid(0) ? "same" : "another");
    say("nobody in it: %s\n", waitpid(-getpgrp(), &status, WNOHANG) < 0
        ? strerror(errno) : "?");
    pid_t found = waitpid(-child, &status, WNOHANG);
    say("not ended: %d\n", (int)found);
    say("killpg: %d\n", killpg(child, SIGTERM));
    found = waitpid(-child, &status, 0);
    say("group's end: %s by %d\n", whose(found, child), WTERMSIG(status));
    say("again: %s\n", kill(child, SIGTERM) ? strerror(errno) : "there");

    child = fork();
    if (child == 0) {
        pid_t own = getpid();
        int first = setsid() == own, second = setsid() < 0 && errno == EPERM;
        _exit(first && second && getpgrp() == own && getsid(0) == own ? 9 : 8);
    }
    waitpid(child, &status, 0);
    say("setsid: %d\n", WEXITSTATUS(status));

    install(SIGUSR1, 0);
    child = fork();
    if (child == 0) {
        if (write(ends[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(handled == SIGUSR1 && sender == getppid() ? 6 : 5);
    }
    if (read(ends[0], &byte, 1) != 1)
        exit(1);
    nap();
    handled = 0;
    int sent = kill(0, SIGUSR1);
    say("kill 0: %d, %d from %s\n", sent, handled, whose(sender, child));
    waitpid(child, &status, 0);
    say("child: %d\n", WEXITSTATUS(status));
}

static void orphan(void) {
    int ends[2];
    char line[64] = "";
    if (pipe(ends))
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        pid_t parent = getpid();
        if (fork() == 0) {
            while (getppid() == parent)
                nap();
            say("orphan: parent is %s\n",
                getppid() == parent ? "the same" : "another");
            _exit(write(ends[1], "x", 1) != 1);
        }
        _exit(0);
    }
    waitpid(child, NULL, 0);
    if (read(ends[0], line, 1) != 1)
        exit(1);
    say("waits for a grandchild: %s\n", wait(NULL) < 0 ? strerror(errno) : "?");
}

int main(int count, char **arguments) {
    if (count != 3 || !freopen(arguments[2], "w", stdout))
        return 2;
    if (!strcmp(arguments[1], "calls"))
        calls(0);
    else if (!strcmp(arguments[1], "restarted"))
        calls(SA_RESTART);
    else if (!strcmp(arguments[1], "information"))
        information();
    else if (!strcmp(arguments[1], "threads"))
        threads();
    else if (!strcmp(arguments[1], "groups"))
        groups();
    else if (!strcmp(arguments[1], "orphan"))
        orphan();
    else
        return 2;
    return 0;
}
