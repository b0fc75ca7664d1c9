import { constants } from 'node:os'
import { getSystemErrorName } from 'node:util'
import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { inGroups } from '../../lib/groups.ts'
import type { Family } from '../../lib/ip.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { NetlinkSession } from '../netlink/session.ts'
import type { OpenTransport } from '../netlink/transport.ts'
import { decodeMembers, encodeChange } from './change.ts'
import { decodeHeader, encodeCreate } from './create.ts'
import { commandErrorText, nameProblem } from './ipset-error.ts'
import {
  decodeName,
  decodeProtocol,
  decodeRevision,
  encodeMembersDump,
  encodeRevisionQuestion,
  HEADERS_DUMP,
  NAMES_DUMP,
  PROTOCOL_QUESTION,
  type ProtocolVersion,
  WANTED,
} from './queries.ts'
import {
  type Member,
  memberText,
  type SetCommand,
  type SetCommandError,
  type SetHeader,
  type Sets,
  type SetType,
} from './sets.ts'
import { encodeCommand, PROTOCOL } from './wire.ts'

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
    await this.#list(NAMES_DUMP, (message) => {
      const name = decodeName(message)
      if (name?.startsWith(prefix)) names.add(name)
    })
    return [...names]
  }

  async headers(prefix: string): Promise<ReadonlyMap<string, SetHeader>> {
    const headers = new Map<string, SetHeader>()
    await this.#list(HEADERS_DUMP, (message) => {
      if (!decodeName(message)?.startsWith(prefix)) return
      const header = decodeHeader(message)
      if (header !== undefined) headers.set(...header)
    })
    return headers
  }

  async members(name: string): Promise<readonly Member[] | undefined> {
    if (nameProblem(name) !== undefined) return undefined
    const members = new Map<string, Member>()
    const errno = await this.#list(encodeMembersDump(name), (message) => {
      for (const member of decodeMembers(message)) members.set(memberText(member), member)
    })
    return errno === ENOENT ? undefined : [...members.values()]
  }

  async protocolVersion(): Promise<ProtocolVersion> {
    let version: ProtocolVersion | undefined
    const refusal = await this.#connect().request(PROTOCOL_QUESTION, (message) => {
      version = decodeProtocol(message)
    })
    if (refusal !== undefined) throw refused(refusal.errno)
    if (version === undefined) throw unusable('it did not say which protocol it speaks')
    if (PROTOCOL < version.oldest || PROTOCOL > version.newest) {
      throw unusable(`it speaks protocol ${version.oldest} to ${version.newest}, not ${PROTOCOL}`)
    }
    return version
  }

  close(): void {
    this.#session?.close()
    this.#session = undefined
  }

  /** Without ip_set in the kernel every command fails. */
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

  /** A type that the kernel has not is not remembered: its module may be loaded later. */
  async #readRevision(type: SetType): Promise<void> {
    const key = revisionKey(type)
    if (this.#revisions.has(key)) return
    await this.#connect().request(encodeRevisionQuestion(type.type, type.family), (message) => {
      const revision = decodeRevision(message, type.type)
      if (revision !== undefined) this.#revisions.set(key, revision)
    })
  }

  /** Returns 0, or ENOENT when the kernel has no such set. */
  async #list(
    question: OutgoingMessage,
    visit: (message: NetlinkMessage) => void,
  ): Promise<number> {
    const errno = await this.#connect().dump(question, visit)
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
