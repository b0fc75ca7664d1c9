import { TestKernel } from './test-kernel.ts'

/** Kernels that are booted when needed, used again, and replaced when they died. */
export class KernelRack {
  readonly #idle: TestKernel[] = []
  readonly #all = new Set<TestKernel>()
  #booted = 0

  async take(modules: string): Promise<TestKernel> {
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    const kernel = await TestKernel.boot(modules, this.#booted++)
    this.#all.add(kernel)
    void kernel.gone.then(() => this.#forget(kernel))
    return kernel
  }

  giveBack(kernel: TestKernel): void {
    if (this.#all.has(kernel)) this.#idle.push(kernel)
  }

  async close(): Promise<void> {
    const kernels = [...this.#all]
    for (const kernel of kernels) kernel.kill()
    await Promise.all(kernels.map(({ gone }) => gone))
  }

  #forget(kernel: TestKernel): void {
    this.#all.delete(kernel)
    const index = this.#idle.indexOf(kernel)
    if (index >= 0) this.#idle.splice(index, 1)
  }
}
