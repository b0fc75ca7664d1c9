import { quote } from '../../../lib/quote.ts'
import type { Located } from './located-yaml.ts'

const MAX_PROBLEMS = 10

/** What is wrong with a file, in its order; of many the first ten. */
export class Problems {
  readonly #file: string
  readonly #all: string[] = []

  constructor(file: string) {
    this.#file = file
  }

  get all(): readonly string[] {
    return this.#all
  }

  /** `audit.yaml:3:10: rules[0].level: "metadata": write None, …` */
  add({ line, column, path, value }: Located, remedy: string): void {
    const shown = value === null || typeof value === 'object' ? '' : quote(value)
    const parts = [`${this.#file}:${line}:${column}`, path, shown, remedy]
    if (this.#all.length === MAX_PROBLEMS) this.#all.push('there is more; correct these first')
    if (this.#all.length > MAX_PROBLEMS) return
    this.#all.push(parts.filter((part) => part !== '').join(': '))
  }
}
