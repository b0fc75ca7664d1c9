import { openNftables } from '../../../src/kernel/nftables/netlink-nftables.ts'
import { runCase } from '../../../src/kernel/nftables/testing/conformance/refusal-case.ts'
import { REFUSALS } from '../../../src/kernel/nftables/testing/conformance/refusals.ts'
import { systemClock } from '../../../src/lib/clock.ts'

const answers: unknown[] = []
for (const refusal of REFUSALS) {
  answers.push((await runCase(() => openNftables(systemClock), refusal)) ?? 'taken')
}
process.stdout.write(JSON.stringify(answers))
