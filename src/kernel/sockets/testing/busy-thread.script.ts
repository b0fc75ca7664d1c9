import { compileFunction } from 'node:vm'
import { parentPort } from 'node:worker_threads'
import { endFastCalls } from '../fast-calls.ts'
import { openSyscalls } from '../syscalls.ts'

const BODY = `
  let sum = 0
  for (let turn = 0; turn < 3000; turn++) {
    sum += sys.close(-1) + sys.send(-1, address, 4, 0) + sys.read(-1, address, 4)
  }
  return sum
`

/** Has V8 compile functions that make system calls, one after the other, until the thread is ended. */
endFastCalls()
const sys = openSyscalls()!
const { address } = sys.allocate(16)
parentPort!.postMessage('busy')
for (;;) {
  const makesCalls = compileFunction(BODY, ['sys', 'address'])
  makesCalls(sys, address)
  makesCalls(sys, address)
}
