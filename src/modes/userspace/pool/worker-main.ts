import { workerData } from 'node:worker_threads'
import type { WorkerSetup } from '../worker/messages.ts'

const setup = workerData as WorkerSetup

if (setup.dataPath === 'native') {
  const { runNativeWorker } = await import('../worker/native/main.ts')
  runNativeWorker(setup)
} else {
  const { runJavascriptWorker } = await import('../worker/javascript/main.ts')
  runJavascriptWorker(setup)
}
