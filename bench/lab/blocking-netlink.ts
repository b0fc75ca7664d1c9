import { findU16 } from '../../src/kernel/netlink/attribute.ts'
import {
  GENERIC_HEADER,
  type GenericRequest,
  genericRequest,
} from '../../src/kernel/netlink/generic.ts'
import {
  decodeMessages,
  encodeMessage,
  errnoOf,
  type NetlinkMessage,
  NLM_F_DUMP,
  NLM_F_REQUEST,
  NLMSG_DONE,
  NLMSG_ERROR,
} from '../../src/kernel/netlink/message.ts'
import { NETLINK_GENERIC } from '../../src/kernel/netlink/transport.ts'
import { checked, libc, SOCK_CLOEXEC, SOCK_RAW } from './libc.ts'
import { inside } from './namespace.ts'

const AF_NETLINK = 16
const SOL_SOCKET = 1
const SO_RCVTIMEO = 20
/** struct timeval: 5 s. */
const TIMEOUT = Buffer.from([5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
/** struct sockaddr_nl of the kernel. */
const KERNEL = Buffer.from([AF_NETLINK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])

/** linux/genetlink.h: the controller, which resolves the number of a family. */
const CONTROL = 16
const GET_FAMILY = { command: 3, version: 1 } as const
const FAMILY_ID = 1
const FAMILY_NAME = 2

/**
 * A generic netlink family of another namespace, queried by blocking system calls: two for
 * one object, three for a list, and no event loop. No read of the kernel is cheaper.
 */
export class BlockingNetlink {
  readonly #socket: number
  readonly #family: number
  readonly #received = Buffer.alloc(65_536)
  #seq = 0

  constructor(namespace: string, family: string) {
    this.#socket = inside(namespace, () =>
      checked(libc.socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC), 'socket'),
    )
    libc.setsockopt(this.#socket, SOL_SOCKET, SO_RCVTIMEO, TIMEOUT, TIMEOUT.length)
    const request = genericRequest(GET_FAMILY, (writer) => writer.text(FAMILY_NAME, family))
    const [answer] = this.#exchange(CONTROL, 0, request)
    const id = answer && findU16(answer.payload.subarray(GENERIC_HEADER), FAMILY_ID)
    if (id === undefined) throw new Error(`this kernel has no ${family}`)
    this.#family = id
  }

  /** One object; none when it is not there. */
  one(request: GenericRequest): NetlinkMessage | undefined {
    return this.#exchange(this.#family, 0, request)[0]
  }

  /** All objects of a list. */
  list(request: GenericRequest): readonly NetlinkMessage[] {
    return this.#exchange(this.#family, NLM_F_DUMP, request)
  }

  close(): void {
    libc.close(this.#socket)
  }

  #exchange(type: number, flags: number, { payload }: GenericRequest): readonly NetlinkMessage[] {
    const seq = ++this.#seq
    const bytes = encodeMessage({ type, flags: flags | NLM_F_REQUEST, payload }, seq)
    const length = BigInt(bytes.length)
    checked(
      Number(libc.sendto(this.#socket, bytes, length, 0, KERNEL, KERNEL.length)),
      'sendto of netlink',
    )
    const found: NetlinkMessage[] = []
    for (;;) {
      for (const message of this.#receive()) {
        if (message.seq !== seq) continue
        if (message.type === NLMSG_ERROR || message.type === NLMSG_DONE) {
          return errnoOf(message) === 0 ? found : []
        }
        found.push(message)
        if (flags === 0) return found
      }
    }
  }

  /** A copy, because the parts of a list share the buffer. */
  #receive(): readonly NetlinkMessage[] {
    const size = BigInt(this.#received.length)
    const length = Number(libc.recv(this.#socket, this.#received, size, 0))
    return [...decodeMessages(Buffer.from(this.#received.subarray(0, checked(length, 'recv'))))]
  }
}
