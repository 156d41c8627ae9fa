// Programs that tests start, and end.
import { spawn } from 'node:child_process';

const patience_ms = 20_000;

/// A running program whose output lines are kept.
export class Program {
  constructor(command, ...parameters) {
    this.lines = [];
    this.waiters = new Set();
    this.child = spawn(command, parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      let rest = '';
      stream.setEncoding('utf8').on('data', (text) => {
        const lines = (rest + text).split('\n');
        rest = lines.pop();
        this.lines.push(...lines);
        this.look();
      });
    }
    this.ended = new Promise((resolve) => {
      this.child.on('error', (error) => resolve(error.message));
      this.child.on('exit', (code, signal) => resolve(signal ?? code));
    });
    this.ended.then((how) => {
      this.how = how;
      this.look();
    });
  }

  look() {
    for (const waiter of this.waiters) waiter();
  }

  /// What `pattern` finds in a line, read or to come.
  line(pattern) {
    return new Promise((resolve, reject) => {
      const settle = (done, value) => {
        clearTimeout(timer);
        this.waiters.delete(look);
        done(value);
      };
      const look = () => {
        const found = this.lines.map((line) => pattern.exec(line)).find(Boolean);
        if (found) settle(resolve, found);
        else if (this.how !== undefined) settle(reject, this.error(`ended (${this.how}) before ${pattern}`));
      };
      const timer = setTimeout(() => settle(reject, this.error(`never said ${pattern}`)), patience_ms);
      this.waiters.add(look);
      look();
    });
  }

  error(what) {
    return new Error(`${this.child.spawnfile} ${what}:\n${this.lines.slice(-20).join('\n')}`);
  }

  /// Ends it; the exit code, or the signal that had to.
  async stop() {
    if (this.how === undefined) {
      this.child.kill('SIGTERM');
      const last = setTimeout(() => this.child.kill('SIGKILL'), patience_ms);
      await this.ended;
      clearTimeout(last);
    }
    return this.how;
  }
}

/// Waits until `holds()` is true, or says what it was that did not come.
export async function until(what, holds) {
  const end = Date.now() + patience_ms;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`never came: ${what()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
