/** Numbers of the Linux ABI, the same on x86-64 and arm64. */

/** bits/socket_type.h */
export const SOCK = {
  stream: 1,
  dgram: 2,
  raw: 3,
  nonBlocking: 0o4000,
  closeOnExec: 0o2000000,
} as const

/** sys/epoll.h; `urgent` is EPOLLPRI, `edge` EPOLLET. */
export const EPOLL = {
  in: 0x1,
  urgent: 0x2,
  out: 0x4,
  err: 0x8,
  hup: 0x10,
  rdhup: 0x2000,
  exclusive: 1 << 28,
  edge: 1 << 31,
} as const

/** asm-generic/errno.h, asm-generic/errno-base.h: the errors that callers distinguish. */
export const ERRNO = {
  noMemory: 12,
  tooManyFilesInSystem: 23,
  tooManyFiles: 24,
  interrupted: 4,
  again: 11,
  messageSize: 90,
  noBuffers: 105,
  inProgress: 115,
} as const

/**
 * Level and option, of asm-generic/socket.h, linux/in.h, linux/in6.h, linux/tcp.h and linux/netfilter_ipv4.h. The
 * names are the kernel's in plain words; if they differ, a comment has the kernel's name.
 */
export const OPTION = {
  reuseAddress: [1, 2],
  keepAlive: [1, 9],
  /** SO_OOBINLINE */
  urgentInline: [1, 10],
  linger: [1, 13],
  reusePort: [1, 15],
  /** SO_PEERCRED: process and user at the other end of a Unix socket. */
  peerCredentials: [1, 17],
  mark: [1, 36],
  noDelay: [6, 1],
  keepIdle: [6, 4],
  keepInterval: [6, 5],
  keepCount: [6, 6],
  transparent4: [0, 19],
  /** SO_ORIGINAL_DST: the destination of an accepted connection before rules translated it. */
  originalDestination4: [0, 80],
  /** IP_RECVORIGDSTADDR: received datagrams carry their destination address. */
  destination4: [0, 20],
  /** IPV6_V6ONLY */
  only6: [41, 26],
  originalDestination6: [41, 80],
  /** IPV6_RECVORIGDSTADDR */
  destination6: [41, 74],
  transparent6: [41, 75],
} as const satisfies Readonly<Record<string, readonly [level: number, option: number]>>

/** A key of `OPTION`. */
export type OptionName = keyof typeof OPTION

/** bits/socket.h */
export const MSG = { dontWait: 0x40, noSignal: 0x4000 } as const

/** fcntl.h: move pages rather than copy them, and never wait. */
export const SPLICE = { move: 1, nonBlocking: 2 } as const

/** sys/socket.h: no more data will be sent. */
export const SHUT_WR = 1

/** linux/sockios.h: requests the number of bytes in the send queue that were never sent. */
export const SIOCOUTQNSD = 0x894b
