import { parentPort, workerData } from 'node:worker_threads'
import { NodeProxyError } from '../../lib/error.ts'
import { openForWriting } from './database.ts'
import { LogWriter } from './log-writer.ts'
import { OpenFiles } from './open-files.ts'
import { storageError } from './sqlite-error.ts'
import type {
  TransactionOutcome,
  WriterAnswer,
  WriterFailure,
  WriterOrder,
  WriterSetup,
} from './writer-messages.ts'

const setup = workerData as WriterSetup

/** Opens the file, reports that, then runs orders; it waits for the disk in place of the main thread. */
function main(): void {
  answer(() => {
    const obey = startObeying()
    parentPort?.on('message', (order: WriterOrder) => answer(() => obey(order)))
    return []
  })
}

function startObeying(): (order: WriterOrder) => readonly TransactionOutcome[] {
  const database = openForWriting(setup.file, setup.now)
  const writer = new LogWriter(database)
  const files = new OpenFiles(setup.file)
  return (order) => {
    if (order.do !== 'close') files.refuseGone()
    if (order.do === 'commit') return writer.commit(order.group)
    if (order.do === 'compact') writer.compact(order.revision)
    else database.close()
    return []
  }
}

function answer(work: () => readonly TransactionOutcome[]): void {
  let message: WriterAnswer
  try {
    message = { outcomes: work() }
  } catch (error) {
    message = { failure: failureOf(storageError(error, setup.file)) }
  }
  parentPort?.postMessage(message)
}

function failureOf(error: unknown): WriterFailure {
  if (!(error instanceof NodeProxyError)) {
    return { code: undefined, message: String(error), hint: undefined }
  }
  return { code: error.code, message: error.message, hint: error.hint }
}

main()
