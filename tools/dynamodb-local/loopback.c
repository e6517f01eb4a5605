/*
 * DynamoDB Local listens on every interface and has no option for its address. Preloaded into its process, this
 * library binds sockets to the loopback address instead. It works without a network namespace, which an unprivileged
 * user cannot create on some CI machines.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

int bind(int socket, const struct sockaddr *address, socklen_t length) {
  static int (*next)(int, const struct sockaddr *, socklen_t);
  struct sockaddr_storage own;
  if (next == NULL) {
    *(void **)&next = dlsym(RTLD_NEXT, "bind");
  }
  if (length > sizeof own) {
    return next(socket, address, length);
  }
  memcpy(&own, address, length);
  if (address->sa_family == AF_INET) {
    ((struct sockaddr_in *)&own)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else if (address->sa_family == AF_INET6) {
    ((struct sockaddr_in6 *)&own)->sin6_addr = in6addr_loopback;
  }
  return next(socket, (struct sockaddr *)&own, length);
}
