import { openSyscalls } from '../../../kernel/sockets/syscalls.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Forwarder, ForwarderOptions } from '../forwarder.ts'
import { JavascriptPool } from './javascript-pool.ts'
import { WorkerGroup } from './worker-group.ts'

/**
 * Starts the workers. Throws NP_KERNEL_SOCKET where it cannot listen as configured, and
 * NP_USERSPACE_DATA_PATH where the data path is not available.
 */
export async function openForwarder(options: ForwarderOptions): Promise<Forwarder> {
  if (options.dataPath === 'javascript') return new JavascriptPool(options)
  const sys = openSyscalls()
  if (sys === undefined) throw noSystemCalls()
  return new WorkerGroup(sys, options)
}

function noSystemCalls(): NodeProxyError {
  const message = 'the data path "native" needs node:ffi, which this Node does not offer'
  const hint = 'start it without --no-experimental-ffi, or use the data path "javascript"'
  return new NodeProxyError('NP_USERSPACE_DATA_PATH', message, { hint })
}
