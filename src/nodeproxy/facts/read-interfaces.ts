import type { InterfaceFacts } from '../../doctor/evidence/node-facts.ts'
import { type JsonObject, readJson, textOf } from '../../explain/host/run-command.ts'
import type { Sysctl } from '../../kernel/sysctl/sysctl.ts'
import { type Json, objectAt, stringAt, valueAt } from '../../lib/json.ts'
import type { NodeSource } from './node-source.ts'

/** The network interfaces by `ip -d link`, without those of address families, and their reverse path filter. */
export async function readInterfaces({
  run,
  sysctl,
}: Pick<NodeSource, 'run' | 'sysctl'>): Promise<readonly InterfaceFacts[]> {
  const links = await readJson(run, ['-d', 'link'])
  const ofAll = filterOf(sysctl, 'all')
  return links.map((link) => interfaceOf(link, Math.max(ofAll, filterOf(sysctl, nameOf(link)))))
}

/** The interface of the default route; empty: there is none. */
export async function readUplink({ run }: Pick<NodeSource, 'run'>): Promise<string> {
  const four = await readJson(run, ['-4', 'route', 'show', 'default'])
  const routes = four.length > 0 ? four : await readJson(run, ['-6', 'route', 'show', 'default'])
  return textOf(routes[0] ?? {}, 'dev') ?? ''
}

function nameOf(link: JsonObject): string {
  return textOf(link, 'ifname') ?? ''
}

function interfaceOf(link: JsonObject, rpFilter: number): InterfaceFacts {
  const info = objectAt(link as Json, 'linkinfo')
  const flags = link['flags']
  return {
    name: nameOf(link),
    kind: stringAt(info, 'info_kind'),
    mtu: Number(link['mtu'] ?? 0),
    master: textOf(link, 'master') ?? '',
    lower: stringAt(info, 'info_data', 'link') || (textOf(link, 'link') ?? ''),
    isUp: Array.isArray(flags) && flags.includes('UP'),
    isTunnelV6: ['local6', 'remote6', 'group6'].some(
      (name) => valueAt(info, 'info_data', name) !== undefined,
    ),
    rpFilter,
  }
}

/** The rp_filter of an interface; 0 when the interface has gone, or has a name that a sysctl cannot have. */
function filterOf(sysctl: Pick<Sysctl, 'read'>, name: string): number {
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(name)) return 0
  return Number(sysctl.read(`net/ipv4/conf/${name}/rp_filter`) ?? 0)
}
