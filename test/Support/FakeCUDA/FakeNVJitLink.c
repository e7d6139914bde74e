/* A stand-in for nvJitLink, beside that for the driver: it "links" PTX by putting "cubin for ARCH" in
 * front of it, and refuses PTX that says so. Part of flashc, under the Apache License v2.0 with LLVM
 * Exceptions. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct {
  char arch[32];
  char *text;
} Link;

static const char refusal[] = "nvJitLink's log";

EXPORT int nvJitLinkVersion(unsigned *major, unsigned *minor) {
  *major = FAKE_MAJOR;
  *minor = 1;
  return 0;
}

EXPORT int nvJitLinkCreate(Link **link, uint32_t count, const char **options) {
  *link = calloc(1, sizeof(Link));
  for (uint32_t n = 0; n < count; ++n)
    if (strncmp(options[n], "-arch=", 6) == 0)
      strncpy((*link)->arch, options[n] + 6, sizeof((*link)->arch) - 1);
  return 0;
}

EXPORT int nvJitLinkDestroy(Link **link) {
  free((*link)->text);
  free(*link);
  *link = NULL;
  return 0;
}

EXPORT int nvJitLinkAddData(Link *link, int type, const void *data, size_t size, const char *name) {
  (void)name;
  if (type != 2 || strstr(data, "refused by nvJitLink"))
    return 4;
  link->text = malloc(size + 64);
  strcpy(link->text, "cubin for ");
  strcat(link->text, link->arch);
  strcat(link->text, "\n");
  strcat(link->text, data);
  return 0;
}

EXPORT int nvJitLinkComplete(Link *link) { return link->text ? 0 : 4; }

EXPORT int nvJitLinkGetLinkedCubinSize(Link *link, size_t *size) {
  *size = strlen(link->text) + 1;
  return 0;
}

EXPORT int nvJitLinkGetLinkedCubin(Link *link, void *cubin) {
  strcpy(cubin, link->text);
  return 0;
}

EXPORT int nvJitLinkGetErrorLogSize(Link *link, size_t *size) {
  (void)link;
  *size = sizeof(refusal);
  return 0;
}

EXPORT int nvJitLinkGetErrorLog(Link *link, char *log) {
  (void)link;
  strcpy(log, refusal);
  return 0;
}
