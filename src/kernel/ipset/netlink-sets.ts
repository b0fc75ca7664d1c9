import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { inGroups } from '../../lib/groups.ts'
import type { Family } from '../../lib/ip.ts'
import { attributeText, findAttribute } from '../netlink/attribute.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { NFPROTO } from '../netlink/nfnetlink.ts'
import { NetlinkSession, type Visit } from '../netlink/session.ts'
import type { OpenTransport } from '../netlink/transport.ts'
import { decodeMembers, encodeChange } from './change.ts'
import { commandErrorText, nameProblem } from './ipset-error.ts'
import {
  type Member,
  memberText,
  type SetCommand,
  type SetCommandError,
  type SetHeader,
  type Sets,
  type SetType,
  type SetTypeName,
} from './sets.ts'
import {
  ATTR_DATA,
  ATTR_FAMILY,
  ATTR_FLAGS,
  ATTR_MIN,
  ATTR_PROTOCOL,
  ATTR_REVISION,
  ATTR_SETNAME,
  ATTR_TYPENAME,
  answerTo,
  encodeCommand,
  PROTOCOL,
  readNumber,
  writeByte,
  writeNumber,
} from './wire.ts'

/** enum ipset_cmd_flags: how much of each set a listing contains. */
const LIST_SETNAME = 1 << 1
const LIST_HEADER = 1 << 2

/** IPSET_CMD_LIST: the names of all sets. */
export const NAMES_DUMP: OutgoingMessage = encodeCommand('list', undefined, (to) => {
  writeNumber(to, ATTR_FLAGS, LIST_SETNAME)
})

/** IPSET_CMD_LIST: the headers of all sets, without members. */
export const HEADERS_DUMP: OutgoingMessage = encodeCommand('list', undefined, (to) => {
  writeNumber(to, ATTR_FLAGS, LIST_HEADER)
})

/** IPSET_CMD_PROTOCOL: the versions of the protocol that the kernel has. */
export const PROTOCOL_QUESTION: OutgoingMessage = encodeCommand('protocol', undefined)

/**
 * The revision of each set type to create sets with: the one that added marks (kernel 3.17), the newest
 * feature that is used here. Later ones (bucket sizes, bit masks) are not used, and an `ipset` program that
 * knows no newer revision can list the sets.
 */
const WANTED: Readonly<Record<SetTypeName, number>> = {
  'hash:ip': 4,
  'hash:ip,port': 5,
  'hash:ip,port,net': 7,
}

/** Attributes of a set's data (linux/netfilter/ipset/ip_set.h). */
const TIMEOUT = 6
const FLAGS = 8
const HASHSIZE = 18
const MAXELEM = 19
const ELEMENTS = 24
const REFERENCES = 25
const MEMSIZE = 26
/** enum ipset_cadt_flags. */
const WITH_COUNTERS = 1 << 3
const WITH_SKBINFO = 1 << 6

/** Commands in one datagram: when all are refused, the refusals fit into the socket's receive buffer. */
const BATCH = 256
const { EINVAL, ENOENT, EPROTONOSUPPORT } = constants.errno

/** IP sets by nfnetlink. The socket is opened with the first request. */
export class NetlinkSets implements Sets {
  readonly #open: OpenTransport
  readonly #clock: Clock
  readonly #revisions = new Map<string, number>()
  #session: NetlinkSession | undefined

  constructor(open: OpenTransport, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async run(commands: readonly SetCommand[]): Promise<readonly SetCommandError[]> {
    const refusals: SetCommandError[] = []
    const sendable: Sendable[] = []
    for (const [index, command] of commands.entries()) {
      const message = nameProblem(command.name)
      if (message === undefined) sendable.push({ index, command })
      else refusals.push({ index, errno: EINVAL, message })
    }
    for (const batch of inGroups(sendable, BATCH)) refusals.push(...(await this.#attempt(batch)))
    return refusals.sort((a, b) => a.index - b.index)
  }

  async names(prefix: string): Promise<readonly string[]> {
    const names = new Set<string>()
    await this.#list(NAMES_DUMP, () => {
      names.clear()
      return (message) => {
        const name = decodeName(message)
        if (name?.startsWith(prefix)) names.add(name)
      }
    })
    return [...names]
  }

  async headers(prefix: string): Promise<ReadonlyMap<string, SetHeader>> {
    const headers = new Map<string, SetHeader>()
    await this.#list(HEADERS_DUMP, () => {
      headers.clear()
      return (message) => {
        if (!decodeName(message)?.startsWith(prefix)) return
        const header = decodeHeader(message)
        if (header !== undefined) headers.set(...header)
      }
    })
    return headers
  }

  async members(name: string): Promise<readonly Member[] | undefined> {
    if (nameProblem(name) !== undefined) return undefined
    const members = new Map<string, Member>()
    const errno = await this.#list(encodeMembersDump(name), () => {
      members.clear()
      return (message) => {
        for (const member of decodeMembers(message)) members.set(memberText(member), member)
      }
    })
    return errno === ENOENT ? undefined : [...members.values()]
  }

  async protocolVersion(): Promise<ProtocolVersion> {
    let version: ProtocolVersion | undefined
    const refusal = await this.#connect().request(PROTOCOL_QUESTION, (message) => {
      version = decodeProtocol(message)
    })
    if (refusal !== undefined) throw refused(refusal.errno)
    if (version === undefined) throw unusable('it did not report its protocol version')
    if (PROTOCOL < version.oldest || PROTOCOL > version.newest) {
      throw unusable(`it speaks protocol ${version.oldest} to ${version.newest}, not ${PROTOCOL}`)
    }
    return version
  }

  close(): void {
    this.#session?.close()
    this.#session = undefined
  }

  /** Sends commands; without ip_set in the kernel every command fails. */
  async #attempt(sendable: readonly Sendable[]): Promise<readonly SetCommandError[]> {
    try {
      return await this.#send(sendable)
    } catch (error) {
      if (!(error instanceof NodeProxyError) || error.code !== 'NP_KERNEL_IPSET') throw error
      const message = `${error.message}: ${error.hint ?? ''}`
      return sendable.map(({ index }) => ({ index, errno: EPROTONOSUPPORT, message }))
    }
  }

  async #send(sendable: readonly Sendable[]): Promise<readonly SetCommandError[]> {
    for (const { command } of sendable) {
      if (command.do === 'create') await this.#readRevision(command.type)
    }
    const messages = sendable.map(({ command }) => this.#encode(command))
    const refusals: SetCommandError[] = []
    for (const [place, errno] of await this.#connect().batch(messages)) {
      const { index, command } = sendable[place]!
      if (errno === ENOENT && command.do === 'destroy') continue
      refusals.push({ index, errno, message: commandErrorText(errno, command) })
    }
    return refusals
  }

  #encode(command: SetCommand): OutgoingMessage {
    switch (command.do) {
      case 'create': {
        const { name, type } = command
        return encodeCreate(name, type, this.#revisions.get(revisionKey(type)) ?? WANTED[type.type])
      }
      case 'destroy':
      case 'flush':
        return encodeCommand(command.do, command.name)
      case 'add':
      case 'delete':
        return encodeChange(command.do, command.name, command.member)
    }
  }

  /** A type that the kernel does not have is not remembered: its module may be loaded later. */
  async #readRevision(type: SetType): Promise<void> {
    const key = revisionKey(type)
    if (this.#revisions.has(key)) return
    await this.#connect().request(encodeRevisionQuestion(type.type, type.family), (message) => {
      const revision = decodeRevision(message, type.type)
      if (revision !== undefined) this.#revisions.set(key, revision)
    })
  }

  /** Returns 0, or ENOENT if the set does not exist. */
  async #list(question: OutgoingMessage, begin: () => Visit): Promise<number> {
    const errno = await this.#connect().dump(question, begin)
    if (errno === 0 || errno === ENOENT) return errno
    throw refused(errno)
  }

  #connect(): NetlinkSession {
    try {
      this.#session ??= new NetlinkSession(this.#open, this.#clock)
      return this.#session
    } catch (cause) {
      throw unusable('it has no netfilter netlink', { cause })
    }
  }
}

interface Sendable {
  readonly index: number
  readonly command: SetCommand
}

function revisionKey({ type, family }: { readonly type: string; readonly family: Family }): string {
  return `${type} ${family}`
}

function refused(errno: number): NodeProxyError {
  const hint = errno === constants.errno.EPERM ? 'run with CAP_NET_ADMIN' : undefined
  return unusable(getSystemErrorName(-errno), { ...(hint && { hint }) })
}

function unusable(
  reason: string,
  details: { readonly hint?: string; readonly cause?: unknown } = {},
): NodeProxyError {
  const message = `the kernel's IP sets cannot be used: ${reason}`
  return new NodeProxyError('NP_KERNEL_IPSET', message, { hint: 'modprobe ip_set', ...details })
}

/** Creates a set, or confirms that it exists with this type. */
export function encodeCreate(name: string, type: SetType, revision: number): OutgoingMessage {
  const flags = (type.counters ? WITH_COUNTERS : 0) | (type.withMark ? WITH_SKBINFO : 0)
  return encodeCommand('create', name, (to) => {
    to.text(ATTR_TYPENAME, type.type)
    writeByte(to, ATTR_REVISION, revision)
    writeByte(to, ATTR_FAMILY, NFPROTO[type.family])
    to.nest(ATTR_DATA, () => {
      writeNumber(to, MAXELEM, type.maxElements)
      if (type.hashSize !== undefined) writeNumber(to, HASHSIZE, type.hashSize)
      if (type.timeout !== undefined) writeNumber(to, TIMEOUT, type.timeout)
      if (flags !== 0) writeNumber(to, FLAGS, flags)
    })
  })
}

/** Name and header of a set in the answer to a listing; undefined if the message holds only members. */
export function decodeHeader(message: NetlinkMessage): readonly [string, SetHeader] | undefined {
  const name = answerTo('list', message, ATTR_SETNAME)
  const type = answerTo('list', message, ATTR_TYPENAME)
  const data = answerTo('list', message, ATTR_DATA)
  if (name === undefined || type === undefined || data === undefined) return undefined
  const number = (attribute: number) => readNumber(findAttribute(data, attribute))
  const family = readNumber(answerTo('list', message, ATTR_FAMILY))
  const flags = number(FLAGS) ?? 0
  const header: SetHeader = {
    type: attributeText(type),
    family: family === NFPROTO[4] ? 4 : family === NFPROTO[6] ? 6 : undefined,
    maxElements: number(MAXELEM),
    hashSize: number(HASHSIZE),
    timeout: number(TIMEOUT),
    withMark: (flags & WITH_SKBINFO) !== 0,
    counters: (flags & WITH_COUNTERS) !== 0,
    references: number(REFERENCES) ?? 0,
    entries: number(ELEMENTS) ?? 0,
    memory: number(MEMSIZE) ?? 0,
  }
  return [attributeText(name), header]
}

/** Header and members of one set, in as many messages as they need. */
export function encodeMembersDump(name: string): OutgoingMessage {
  return encodeCommand('list', name)
}

/** The name of the set in an answer to IPSET_CMD_LIST. */
export function decodeName(message: NetlinkMessage): string | undefined {
  const name = answerTo('list', message, ATTR_SETNAME)
  return name && attributeText(name)
}

/** The newest and the oldest version of the protocol that the kernel has. */
interface ProtocolVersion {
  readonly newest: number
  readonly oldest: number
}

/** The answer to `PROTOCOL_QUESTION`; undefined for any other message. */
export function decodeProtocol(message: NetlinkMessage): ProtocolVersion | undefined {
  const newest = readNumber(answerTo('protocol', message, ATTR_PROTOCOL))
  if (newest === undefined) return undefined
  return { newest, oldest: readNumber(answerTo('protocol', message, ATTR_MIN)) ?? newest }
}

/** Requests the revisions of a set type that the kernel has; this loads the type's module. */
export function encodeRevisionQuestion(type: SetTypeName, family: Family): OutgoingMessage {
  return encodeCommand('type', undefined, (to) => {
    to.text(ATTR_TYPENAME, type)
    writeByte(to, ATTR_FAMILY, NFPROTO[family])
  })
}

/** The revision to create sets with: a supported one between the oldest and the newest in the kernel's answer. */
export function decodeRevision(message: NetlinkMessage, type: SetTypeName): number | undefined {
  const newest = readNumber(answerTo('type', message, ATTR_REVISION))
  if (newest === undefined) return undefined
  const oldest = readNumber(answerTo('type', message, ATTR_MIN)) ?? newest
  return Math.max(Math.min(WANTED[type], newest), oldest)
}
