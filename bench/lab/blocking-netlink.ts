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
import { BlockingSocket } from './blocking-socket.ts'

const TIMEOUT_MS = 5_000

/** linux/genetlink.h: the controller, which resolves the number of a family. */
const CONTROL = 16
const GET_FAMILY = { command: 3, version: 1 } as const
const FAMILY_ID = 1
const FAMILY_NAME = 2

/**
 * A generic netlink family of another namespace, read by blocking system calls: two for one object, three for a list,
 * without an event loop. There is no cheaper way to read the kernel.
 */
export class BlockingNetlink {
  readonly #socket: BlockingSocket
  readonly #family: number
  #seq = 0

  constructor(namespace: string, family: string) {
    const options = { namespace, protocol: NETLINK_GENERIC, timeoutMs: TIMEOUT_MS }
    this.#socket = new BlockingSocket(options)
    const request = genericRequest(GET_FAMILY, (writer) => writer.text(FAMILY_NAME, family))
    const [answer] = this.#exchange(CONTROL, 0, request)
    const id = answer && findU16(answer.payload.subarray(GENERIC_HEADER), FAMILY_ID)
    if (id === undefined) throw new Error(`this kernel has no ${family}`)
    this.#family = id
  }

  /** One object; undefined: it does not exist. */
  one(request: GenericRequest): NetlinkMessage | undefined {
    return this.#exchange(this.#family, 0, request)[0]
  }

  /** All objects of a list. */
  list(request: GenericRequest): readonly NetlinkMessage[] {
    return this.#exchange(this.#family, NLM_F_DUMP, request)
  }

  close(): void {
    this.#socket.close()
  }

  #exchange(type: number, flags: number, { payload }: GenericRequest): readonly NetlinkMessage[] {
    const seq = ++this.#seq
    this.#socket.send(encodeMessage({ type, flags: flags | NLM_F_REQUEST, payload }, seq))
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

  #receive(): readonly NetlinkMessage[] {
    const datagram = this.#socket.receive()
    if (datagram === undefined) throw new Error(`no answer over netlink in ${TIMEOUT_MS} ms`)
    return [...decodeMessages(datagram)]
  }
}
