/* Writes a head image as the C program of a serve does: a temp file, then a rename.
 *
 * writer shared|pid PAYLOAD IMAGE, compiled with the size of the image's HEADER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char payload[1 << 16];

int main(int argc, char **argv) {
    char temp[4096];
    FILE *file;
    size_t size;

    if (argc != 4) return 2;
    file = fopen(argv[2], "rb");
    if (!file) return 2;
    size = fread(payload, 1, sizeof payload, file);
    fclose(file);

    if (strcmp(argv[1], "pid") == 0)
        snprintf(temp, sizeof temp, "%s.tmp.%d", argv[3], (int)getpid());
    else
        snprintf(temp, sizeof temp, "%s.tmp", argv[3]);
    file = fopen(temp, "wb");
    if (!file) return 1;
    if (fwrite(payload, 1, HEADER, file) != HEADER || fflush(file) != 0 ||
        fwrite(payload + HEADER, 1, size - HEADER, file) != size - HEADER) {
        fclose(file);
        unlink(temp);
        return 1;
    }
    if (fclose(file) != 0 || rename(temp, argv[3]) != 0) {
        unlink(temp);
        return 1;
    }
    return 0;
}
