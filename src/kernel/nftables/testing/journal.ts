/** What a transaction has done so far, so that it can be taken back. */
export class Journal {
  readonly #undo: (() => void)[] = []
  /** Steps that count as a change, and so make a new generation. */
  changes = 0

  /** Notes how one step is undone. */
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
