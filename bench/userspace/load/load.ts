import { WorkerProcess } from '../../worker-process.ts'
import type { LoadOrder, LoadReports } from './order.ts'

/** The load generator's process, and its answers. */
export type Load = WorkerProcess<LoadOrder, LoadReports>

export function startLoad(): Load {
  return new WorkerProcess(new URL('./main.ts', import.meta.url))
}
