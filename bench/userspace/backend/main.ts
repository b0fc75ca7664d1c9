import { Sockets } from '../../../src/kernel/sockets/sockets.ts'
import { openSyscalls } from '../../../src/kernel/sockets/syscalls.ts'
import type { IpAddress } from '../../../src/lib/ip.ts'
import { inside } from '../../lab/namespace.ts'
import { BACKENDS, TARGET_PORT } from '../../lab/plan.ts'
import { Backend } from './backend.ts'
import { Source } from './source.ts'

/** One backend for all subjects. Arguments: FOLDER NAMESPACE…; it listens in each namespace. */
const sys = openSyscalls()
if (sys === undefined) throw new Error('the backend needs node:ffi')
const sockets = new Sockets(sys)
const [folder = '', ...namespaces] = process.argv.slice(2)
const source = new Source(sys, folder)
const listeners = namespaces.map((name) =>
  inside(name, () => sockets.listenTcp(BACKENDS.host as IpAddress, TARGET_PORT)),
)
process.stdout.write('listening\n', () => new Backend(sockets, listeners, source).run())
