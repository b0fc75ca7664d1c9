import { CommandIpset } from '../../../src/kernel/ipset/command-ipset.ts'
import { Spawner } from '../../../src/kernel/spawner/spawner.ts'

const runner = new Spawner()
const ipset = new CommandIpset(runner)
const create = 'create NP-A hash:ip family inet timeout 300 hashsize 64 maxelem 262144'
const steps = {
  none: await ipset.names('NP-'),
  created: await ipset.restore([
    create,
    'create NP-B hash:ip family inet6 timeout 300 -exist',
    `${create} -exist`,
    'create NP-A hash:ip family inet6 -exist',
    'add NP-A 10.0.0.1',
    'add NP-NONE 10.0.0.1',
    'create NP-C hash:ip',
    'add NP-A 10.0.0.2 timeout 5',
  ]),
  names: await ipset.names('NP-'),
  header: [...(await ipset.list('NP-A'))].map(([name, header]) => ({
    name,
    ...header,
    options: Object.fromEntries(header.options),
  })),
  members: (await ipset.members('NP-A'))
    ?.map((line) => line.replace(/timeout \d+/, 'timeout'))
    .sort(),
  noMembers: (await ipset.members('NP-NONE')) ?? 'undefined',
  destroyed: await ipset.restore([
    'destroy NP-A',
    'destroy NP-NONE',
    'destroy NP-B',
    'destroy NP-C',
  ]),
  left: await ipset.names('NP-'),
}
await runner.close()
process.stdout.write(JSON.stringify(steps))
