/** What a transaction has done so far, so that it can be rolled back. */
export class Journal {
  readonly #undo: (() => void)[] = []
  /** The number of steps that count as a change; any change begins a new generation. */
  changes = 0

  /** Records how one step is undone. */
  record(undo: () => void): void {
    this.changes++
    this.#undo.push(undo)
  }

  /** Undoes every step, the last one first. */
  rollBack(): void {
    for (let undo = this.#undo.pop(); undo; undo = this.#undo.pop()) undo()
    this.changes = 0
  }
}
