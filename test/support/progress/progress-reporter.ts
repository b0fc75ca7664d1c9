import type { Reporter, TestModule, TestSpecification, Vitest } from 'vitest/node'
import { progressText } from './progress-text.ts'
import { StatusLine } from './status-line.ts'
import { type PendingFile, timeLeft } from './time-left.ts'

/** How often the line is updated on a terminal, and how often it is printed elsewhere. */
const TERMINAL_MS = 1_000
const PLAIN_MS = 30_000

/**
 * A vitest reporter that shows the progress of a run: a line that stays at the bottom of a terminal, or a line every 30
 * seconds if the output is not a terminal. It estimates the time left from the durations that vitest recorded in
 * earlier runs.
 */
export class ProgressReporter implements Reporter {
  #vitest: Vitest | undefined
  readonly #pending = new Map<string, PendingFile>()
  readonly #running = new Map<string, string>()
  readonly #known = new Map<string, number[]>()
  #total = 0
  #failed = 0
  #timer: NodeJS.Timeout | undefined
  #line: StatusLine | undefined

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  onTestRunStart(files: readonly TestSpecification[]): void {
    this.#stop()
    for (const map of [this.#pending, this.#running, this.#known]) map.clear()
    this.#failed = 0
    this.#total = files.length
    for (const file of files) this.#expect(file)
    if (process.stdout.isTTY) {
      this.#line = new StatusLine(process.stdout, process.stderr.isTTY ? [process.stderr] : [])
      this.#timer = setInterval(() => this.#line?.show(this.#text()), TERMINAL_MS)
    } else {
      this.#timer = setInterval(() => process.stdout.write(`${this.#text()}\n`), PLAIN_MS)
    }
    this.#timer.unref()
  }

  onTestModuleStart(file: TestModule): void {
    this.#running.set(keyOf(file), file.project.name)
  }

  onTestModuleEnd(file: TestModule): void {
    this.#running.delete(keyOf(file))
    this.#pending.delete(keyOf(file))
    if (file.state() === 'failed') this.#failed += 1
    this.#learn(file.project.name, file.diagnostic().duration)
  }

  onTestRunEnd(): void {
    this.#stop()
  }

  #expect(file: TestSpecification): void {
    const { name, config } = file.project
    const recordedMs = this.#vitest?.cache.getTestSpecificationResult(file)?.duration
    if (recordedMs !== undefined) this.#learn(name, recordedMs)
    this.#pending.set(keyOf(file), {
      project: name,
      workers: config.maxWorkers,
      recordedMs,
    })
  }

  #learn(project: string, durationMs: number): void {
    this.#known.set(project, [...(this.#known.get(project) ?? []), durationMs])
  }

  #text(): string {
    return progressText({
      projects: [...new Set(this.#running.values())].toSorted(),
      done: this.#total - this.#pending.size,
      total: this.#total,
      failed: this.#failed,
      leftMs: timeLeft([...this.#pending.values()], this.#known),
    })
  }

  #stop(): void {
    clearInterval(this.#timer)
    this.#line?.close()
    this.#line = undefined
  }
}

function keyOf({ project, moduleId }: TestSpecification | TestModule): string {
  return `${project.name} ${moduleId}`
}
