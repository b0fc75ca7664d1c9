import { openIptables } from '../../../src/kernel/iptables/command-iptables.ts'
import type { IptablesVariant } from '../../../src/kernel/iptables/iptables.ts'
import { Spawner } from '../../../src/kernel/spawner/spawner.ts'

const nat = (...lines: string[]) => `*nat\n${lines.join('\n')}\nCOMMIT\n`

const runner = new Spawner()
const backend = process.argv[2] as IptablesVariant
const iptables = await openIptables({ runner, backend })
const family = process.argv[3] === '6' ? 6 : 4
const ip = family === 4 ? '10.1.0.4' : 'fd00::4'
const to = family === 4 ? '10.1.0.4:80' : '[fd00::4]:80'

const steps = {
  empty: [...(await iptables.save(family, 'nat')).chains.keys()],
  created: await iptables.restore(family, [
    nat(':NP-A - [0:0]', `-A NP-A -d ${ip} -p tcp -j DNAT --to-destination ${to}`),
    nat(':NP-B - [0:0]', '-A NP-B -m comment --comment "a \\"b\\" c" -j NP-A'),
  ]),
  saved: (await iptables.save(family, 'nat', { keep: (chain) => chain.startsWith('NP-') })).chains,
  listed: await iptables.listChain(family, 'nat', 'NP-A'),
  unlisted: (await iptables.listChain(family, 'nat', 'NP-NONE')) ?? 'undefined',
  unlistedTable: (await iptables.listChain(family, 'mangle', 'NP-NONE')) ?? 'undefined',
  referenced: await iptables.restore(family, nat('-F NP-A', '-X NP-A')),
  missingChain: await iptables.restore(family, nat('-A NP-A -j NP-NONE')),
  missingSet: await iptables.restore(
    family,
    nat('-A NP-A -m set --match-set np-none src -j RETURN'),
  ),
  second: await iptables.restore(
    family,
    nat(':NP-C - [0:0]') + nat(':NP-D - [0:0]', '-X NP-NONE') + nat(':NP-E - [0:0]'),
  ),
  unknownTable: await iptables.restore(family, '*nope\nCOMMIT\n'),
  unparsable: await iptables.restore(family, nat('-A NP-A --nonsense')),
  cleaned: await iptables.restore(
    family,
    nat('-F NP-A', '-F NP-B', '-F NP-C', '-X NP-B', '-X NP-A', '-X NP-C'),
  ),
  left: [...(await iptables.save(family, 'nat')).chains.keys()].filter((name) =>
    name.startsWith('NP-'),
  ),
}
await runner.close()
const replacer = (key: string, value: unknown): unknown => {
  if (key === 'pid') return typeof value === 'number' && value > 1
  return value instanceof Map ? (Object.fromEntries(value) as unknown) : value
}
process.stdout.write(JSON.stringify({ backend: iptables.backend, ...steps }, replacer))
