import { ProcModules } from '../../../kernel/modules/proc-modules.ts'
import { Spawner } from '../../../kernel/spawner/spawner.ts'

/** The kernel modules without which a mode cannot work. Nothing is loaded. */
export async function readModules(scheduler: string): Promise<Readonly<Record<string, string>>> {
  const name = /^[a-z]{1,16}$/.test(scheduler) ? scheduler : 'rr'
  const runner = new Spawner()
  try {
    const names = ['ip_vs', `ip_vs_${name}`, 'ip_set', 'xt_set', 'nf_tables', 'br_netfilter']
    return Object.fromEntries(await new ProcModules(runner).states(names))
  } finally {
    await runner.close()
  }
}
