import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import { NodeProxyError } from '../../lib/error.ts'
import { findU16 } from './attribute.ts'
import { AttributeWriter } from './attribute-writer.ts'
import type { KernelError } from './kernel-error.ts'
import type { NetlinkMessage, OutgoingMessage } from './message.ts'
import type { BatchAnswer, NetlinkSession, Visit } from './session.ts'

/** linux/genetlink.h: the family that resolves the names of all others. */
const GENL_ID_CTRL = 0x10
const CTRL_CMD_GETFAMILY = 3
const CTRL_VERSION = 1
const CTRL_ATTR_FAMILY_ID = 1
const CTRL_ATTR_FAMILY_NAME = 2
/** `struct genlmsghdr`: command, version, two reserved bytes. */
export const GENERIC_HEADER = 4

/** A request to a generic netlink family. */
export interface GenericRequest {
  readonly payload: Buffer
}

/** A generic netlink family to resolve. */
export interface FamilyName {
  readonly name: string
  /** Creates the error that is thrown on a kernel without the family. */
  readonly missing: () => NodeProxyError
}

/**
 * A generic netlink family. Its number is resolved with the first request, which may load its module. It is resolved
 * again when the kernel does not know the number any more, because the module was unloaded and loaded again.
 */
export class GenericFamily {
  readonly #session: NetlinkSession
  readonly #family: FamilyName
  #type: number | undefined

  constructor(session: NetlinkSession, family: FamilyName) {
    this.#session = session
    this.#family = family
  }

  /** Like `NetlinkSession.transact`. */
  transact(requests: readonly GenericRequest[]): Promise<BatchAnswer> {
    return this.#addressed(
      (type) => this.#session.transact(requests.map((request) => addressed(type, request))),
      ({ refusals }) => requests.every((_, index) => isUnknown(refusals.get(index))),
    )
  }

  /** Like `NetlinkSession.request`. */
  request(request: GenericRequest, visit: Visit): Promise<KernelError | undefined> {
    return this.#addressed(
      (type) => this.#session.request(addressed(type, request), visit),
      isUnknown,
    )
  }

  /** Like `NetlinkSession.dump`. */
  dump(request: GenericRequest, begin: () => Visit): Promise<number> {
    return this.#addressed(
      (type) => this.#session.dump(addressed(type, request), begin),
      (errno) => errno === constants.errno.ENOENT,
    )
  }

  /** Sends again if the number of the family has changed meanwhile. */
  async #addressed<T>(
    send: (type: number) => Promise<T>,
    mayBeStale: (answer: T) => boolean,
  ): Promise<T> {
    const known = this.#type
    const answer = await send(known ?? (await this.#resolve()))
    if (known === undefined || !mayBeStale(answer)) return answer
    const current = await this.#resolve()
    return current === known ? answer : send(current)
  }

  async #resolve(): Promise<number> {
    const { name, missing } = this.#family
    let type: number | undefined
    const refusal = await this.#session.request(resolution(name), (message) => {
      if (message.type !== GENL_ID_CTRL) return
      type = findU16(message.payload.subarray(GENERIC_HEADER), CTRL_ATTR_FAMILY_ID)
    })
    if (refusal !== undefined && !isUnknown(refusal)) throw unresolved(name, refusal)
    this.#type = type
    if (type === undefined) throw missing()
    return type
  }
}

/** The command of a message of a generic family, or -1. */
export function commandOf({ payload }: NetlinkMessage): number {
  return payload.length < GENERIC_HEADER ? -1 : payload.readUInt8(0)
}

/** A command of a family with its attributes. */
export function genericRequest(
  { command, version }: { readonly command: number; readonly version: number },
  write: (attributes: AttributeWriter) => void,
): GenericRequest {
  const writer = new AttributeWriter().header(command, version, 0, 0)
  write(writer)
  return { payload: writer.written() }
}

function resolution(name: string): OutgoingMessage {
  const command = { command: CTRL_CMD_GETFAMILY, version: CTRL_VERSION }
  const request = genericRequest(command, (writer) => writer.text(CTRL_ATTR_FAMILY_NAME, name))
  return addressed(GENL_ID_CTRL, request)
}

function addressed(type: number, { payload }: GenericRequest): OutgoingMessage {
  return { type, flags: 0, payload }
}

function isUnknown(refusal: KernelError | undefined): boolean {
  return refusal?.errno === constants.errno.ENOENT
}

function unresolved(name: string, { errno }: KernelError): NodeProxyError {
  const reason = getSystemErrorName(-errno)
  return new NodeProxyError('NP_KERNEL_NETLINK', `netlink family ${name} not found: ${reason}`)
}
