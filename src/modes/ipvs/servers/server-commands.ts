import type { IpvsCommand, RealServer, VirtualServerId } from '../../../kernel/ipvs/ipvs.ts'
import { addressOf } from '../objects/object.ts'
import {
  canDrain,
  isQuiescentServer,
  type ServerSpec,
  serversIn,
  serverText,
  settingsText,
  specText,
  splitText,
} from './server-spec.ts'

/** What to send, and the state of the virtual server afterwards (see `specText`). */
export interface ServerPlan {
  readonly commands: readonly IpvsCommand[]
  readonly text: string
}

/**
 * The commands that turn a virtual server from its present state (`held`; undefined if it does not exist) into what it
 * should be. Backends that left stay with weight 0 if they are to be drained.
 */
export function planServer(
  id: VirtualServerId,
  spec: ServerSpec,
  { held, drains }: { readonly held: string | undefined; readonly drains: boolean },
): ServerPlan {
  const present = serversIn(held ?? '|')
  const keeps = drains && canDrain(spec.settings.scheduler)
  const commands: IpvsCommand[] = settingsCommands(id, spec, held)
  const wanted = new Map(spec.servers.map((server) => [nameOf(server), server]))
  for (const [name, server] of wanted) {
    const now = present.get(name)
    if (now === serverText(server)) continue
    commands.push({ do: now === undefined ? 'addServer' : 'setServer', id, server })
  }
  const leaving: RealServer[] = []
  for (const [name, text] of present) {
    if (wanted.has(name)) continue
    const server = quiescent(name)
    if (keeps) leaving.push(server)
    if (!keeps) commands.push({ do: 'deleteServer', id, server })
    else if (text !== serverText(server)) commands.push({ do: 'setServer', id, server })
  }
  const servers = [...spec.servers, ...leaving]
  return { commands, text: specText({ settings: spec.settings, servers }) }
}

/** The commands by which every backend of a virtual server that is not wanted any more stops taking new connections. */
export function planHold(id: VirtualServerId, held: string): ServerPlan {
  const [settings] = splitText(held)
  const servers = [...serversIn(held).keys()].map(quiescent)
  const texts = servers.map(serverText).toSorted()
  return {
    commands: servers.map((server) => ({ do: 'setServer', id, server })),
    text: `${settings}|${texts.join(' ')}`,
  }
}

/** Names (`ip:port`) of the backends that take no new connections. */
export function quiescentIn(text: string): readonly string[] {
  return [...serversIn(text)].flatMap(([name, server]) => (isQuiescentServer(server) ? [name] : []))
}

/** Whether a virtual server takes no new connections at all. */
export function isQuiescent(text: string): boolean {
  return quiescentIn(text).length === serversIn(text).size
}

/** A text without some of its backends. */
export function withoutServers(text: string, names: ReadonlySet<string>): string {
  const [settings] = splitText(text)
  const rest = [...serversIn(text)].flatMap(([name, server]) => (names.has(name) ? [] : [server]))
  return `${settings}|${rest.join(' ')}`
}

function settingsCommands(
  id: VirtualServerId,
  { settings }: ServerSpec,
  held: string | undefined,
): IpvsCommand[] {
  if (held === undefined) return [{ do: 'addService', id, settings }]
  const isSame = splitText(held)[0] === settingsText(settings)
  return isSame ? [] : [{ do: 'setService', id, settings }]
}

function quiescent(name: string): RealServer {
  const server = { forwarding: 'masquerade', upperThreshold: 0, lowerThreshold: 0 } as const
  return { ...addressOf(name), weight: 0, ...server }
}

function nameOf(server: RealServer): string {
  return serverText(server).replace(/\*.*/, '')
}
