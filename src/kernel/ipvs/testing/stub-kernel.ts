import { constants } from 'node:os'
import { findAttribute } from '../../netlink/attribute.ts'
import { commandOf, GENERIC_HEADER, type GenericRequest } from '../../netlink/generic.ts'
import {
  decodeMessages,
  type NetlinkMessage,
  NLM_F_ACK,
  NLMSG_DONE,
} from '../../netlink/message.ts'
import { errorMessage, FakeTransport, incoming } from '../../netlink/testing/fake-transport.ts'
import type { OpenTransport } from '../../netlink/transport.ts'
import { encodeAddServer, encodeAddService } from '../commands.ts'
import { type IpvsCommand, type VirtualServerId, virtualServerKey } from '../ipvs.ts'
import { decodeServer, decodeServerId } from '../real-server.ts'
import { decodeServiceId, decodeSettings } from '../virtual-server.ts'
import { COMMAND } from '../wire.ts'
import { FakeTable } from './fake-table.ts'
import { SENT_BY_KERNEL } from './fixtures.ts'

const CONTROLLER = 0x10
const FAMILY = 0x1c
const { ENOENT, ESRCH, EPERM } = constants.errno

/** The other end of the socket: decodes requests, executes them, and answers in bytes. */
export class StubKernel {
  readonly table = new FakeTable(new Set(['rr', 'wrr']))
  readonly sockets: FakeTransport[] = []
  /** What was added, changed and deleted, or refused, in order. */
  readonly executed: IpvsCommand[] = []
  hasModule = true
  permitted = true
  /** The number of further requests that are executed while their answers are lost. */
  overruns = 0

  readonly open: OpenTransport = (handlers) => {
    const socket = new FakeTransport()
    this.sockets.push(socket)
    socket.onSend = (bytes) => {
      const answers = [...decodeMessages(bytes)].flatMap((message) => this.#answer(message))
      if (this.overruns-- > 0) socket.overrun()
      else for (const answer of answers) socket.receive(answer)
    }
    return socket.open(handlers)
  }

  #answer(message: NetlinkMessage): readonly Buffer[] {
    const { seq } = message
    if (message.type === CONTROLLER) {
      if (!this.hasModule) return [errorMessage(seq, ENOENT)]
      return [this.#say(seq, SENT_BY_KERNEL.family, CONTROLLER), errorMessage(seq, 0)]
    }
    const errno = this.permitted ? 0 : EPERM
    if (errno !== 0) return [errorMessage(seq, errno)]
    return this.#list(message) ?? this.#acknowledge(message, this.#execute(message))
  }

  #acknowledge({ seq, flags }: NetlinkMessage, errno: number): readonly Buffer[] {
    return errno !== 0 || (flags & NLM_F_ACK) > 0 ? [errorMessage(seq, errno)] : []
  }

  /** Dumps, and requests for one object. */
  #list(message: NetlinkMessage): readonly Buffer[] | undefined {
    const { seq } = message
    const id = serviceOf(message)
    const service = id && this.table.services.get(virtualServerKey(id))
    const done = incoming({ type: NLMSG_DONE, flags: 2, payload: Buffer.alloc(4) }, seq)
    switch (commandOf(message)) {
      case COMMAND.getService: {
        const services = id === undefined ? [...this.table.services.values()] : [service]
        if (services.includes(undefined)) return [errorMessage(seq, ESRCH)]
        const said = services.flatMap((each) =>
          each === undefined ? [] : [this.#say(seq, encodeAddService(each.id, each.settings))],
        )
        return [...said, id === undefined ? done : errorMessage(seq, 0)]
      }
      case COMMAND.getServer: {
        const servers = service === undefined ? [] : [...service.servers.values()]
        return [...servers.map((each) => this.#say(seq, encodeAddServer(id!, each))), done]
      }
      case COMMAND.getInfo:
        return [this.#say(seq, SENT_BY_KERNEL.info), errorMessage(seq, 0)]
      case COMMAND.getConfig:
        return [this.#say(seq, SENT_BY_KERNEL.config), errorMessage(seq, 0)]
      default:
        return undefined
    }
  }

  #execute(message: NetlinkMessage): number {
    const command = commandOf(message)
    const id = serviceOf(message)
    if (command === COMMAND.zero)
      return id && !this.table.services.has(virtualServerKey(id)) ? ESRCH : 0
    if (command === COMMAND.flush) this.table.services.clear()
    const order = id && orderOf(message, id)
    if (order === undefined) return 0
    this.executed.push(order)
    return this.table.execute(order)
  }

  #say(seq: number, body: string | GenericRequest, type = FAMILY): Buffer {
    const payload = typeof body === 'string' ? Buffer.from(body, 'hex') : body.payload
    return incoming({ type, flags: 2, payload }, seq)
  }
}

function nested({ payload }: NetlinkMessage, type: number): Buffer | undefined {
  return findAttribute(payload, type, GENERIC_HEADER)
}

function serviceOf(message: NetlinkMessage): VirtualServerId | undefined {
  const service = nested(message, 1)
  return service && decodeServiceId(service)
}

function orderOf(message: NetlinkMessage, id: VirtualServerId): IpvsCommand | undefined {
  const settings = decodeSettings(id.family, nested(message, 1)!)
  const bytes = nested(message, 2) ?? Buffer.alloc(0)
  const server = decodeServer(bytes, id.family)
  switch (commandOf(message)) {
    case COMMAND.newService:
      return settings && { do: 'addService', id, settings }
    case COMMAND.setService:
      return settings && { do: 'setService', id, settings }
    case COMMAND.deleteService:
      return { do: 'deleteService', id }
    case COMMAND.newServer:
      return server && { do: 'addServer', id, server }
    case COMMAND.setServer:
      return server && { do: 'setServer', id, server }
    case COMMAND.deleteServer:
      return { do: 'deleteServer', id, server: decodeServerId(bytes, id.family)! }
    default:
      return undefined
  }
}
