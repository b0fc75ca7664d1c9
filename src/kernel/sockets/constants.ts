/** Numbers of the Linux ABI, the same on x86-64 and arm64. */

/** bits/socket_type.h */
export const SOCK = {
  stream: 1,
  dgram: 2,
  raw: 3,
  nonBlocking: 0o4000,
  closeOnExec: 0o2000000,
} as const

/** sys/epoll.h */
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

/** asm-generic/errno.h, those that are distinguished. */
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

/** asm-generic/socket.h, linux/in.h, linux/in6.h, linux/tcp.h, linux/udp.h: level and option. */
export const OPTION = {
  reuseAddress: [1, 2],
  keepAlive: [1, 9],
  urgentInline: [1, 10],
  linger: [1, 13],
  reusePort: [1, 15],
  /** Process and user at the other end of a Unix socket. */
  peerCredentials: [1, 17],
  mark: [1, 36],
  noDelay: [6, 1],
  keepIdle: [6, 4],
  keepInterval: [6, 5],
  keepCount: [6, 6],
  transparent4: [0, 19],
  /** The destination of an accepted connection before rules translated it. */
  untranslated4: [0, 80],
  /** Received datagrams carry the address that they were sent to. */
  destination4: [0, 20],
  only6: [41, 26],
  untranslated6: [41, 80],
  destination6: [41, 74],
  transparent6: [41, 75],
} as const satisfies Readonly<Record<string, readonly [level: number, option: number]>>

/** A key of `OPTION`. */
export type OptionName = keyof typeof OPTION

/** bits/socket.h */
export const MSG = { noSignal: 0x4000 } as const

/** fcntl.h: move pages rather than copy them, and never wait. */
export const SPLICE = { move: 1, nonBlocking: 2 } as const

/** sys/socket.h: no more data will be sent. */
export const SHUT_WR = 1

/** linux/sockios.h: bytes in the send queue that were not sent even once. */
export const SIOCOUTQNSD = 0x894b
