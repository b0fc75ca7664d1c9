import { statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { NodeProxyError } from '../../../lib/error.ts'
import { quote } from '../../../lib/quote.ts'
import { openForWriting } from '../database/database.ts'
import { storageError } from '../database/sqlite-error.ts'
import { LogWriter } from './log-writer.ts'
import type {
  TransactionOutcome,
  WriterCommand,
  WriterFailure,
  WriterReply,
  WriterSetup,
} from './writer-messages.ts'

const setup = workerData as WriterSetup

/**
 * The writer thread: opens the file, replies, then runs commands. It waits for the disk, so that the main
 * thread does not have to.
 */
function main(): void {
  answer(() => {
    const execute = openWriter()
    parentPort?.on('message', (command: WriterCommand) => answer(() => execute(command)))
    return []
  })
}

function openWriter(): (command: WriterCommand) => readonly TransactionOutcome[] {
  const database = openForWriting(setup.file, setup.now)
  const writer = new LogWriter(database)
  const files = new OpenFiles(setup.file)
  return (command) => {
    if (command.do !== 'close') files.refuseGone()
    if (command.do === 'commit') return writer.commit(command.group)
    if (command.do === 'compact') writer.compact(command.revision)
    else database.close()
    return []
  }
}

function answer(work: () => readonly TransactionOutcome[]): void {
  let message: WriterReply
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

/**
 * The inodes of the store's file and its log at the time of opening. When another process deletes
 * or replaces the files, SQLite goes on writing to files that no process can open again:
 * every commit and compaction checks the inodes first.
 */
class OpenFiles {
  readonly #store: string
  readonly #files: ReadonlyMap<string, number | undefined>

  constructor(store: string) {
    this.#store = store
    this.#files = new Map([store, `${store}-wal`].map((file) => [file, inodeOf(file)]))
  }

  /** @throws NP_STORAGE_GONE when a file was deleted or replaced */
  refuseGone(): void {
    for (const [file, inode] of this.#files) {
      if (inode !== undefined && inodeOf(file) === inode) continue
      throw new NodeProxyError('NP_STORAGE_GONE', `${quote(file)} was deleted or replaced`, {
        object: this.#store,
        hint: 'start the server again; restore a backup if the data is missing then',
      })
    }
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}

main()
