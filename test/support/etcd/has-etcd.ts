import { hasProgram } from '../on-demand/has-program.ts'

/** Whether tests can start an etcd: `describe.runIf(hasEtcd())`. */
export function hasEtcd(): boolean {
  return hasProgram('etcd', 'etcd-server')
}
