/** A small change that weakens the protocol. */
export interface Mutant {
  readonly what: string;
  /** Below src/. */
  readonly file: string;
  /** A text that the file has once, and what takes its place. */
  readonly from: string;
  readonly to: string;
}

/** The mutants that the simulation finds. */
export const MUTANTS: readonly Mutant[] = [
  {
    what: 'a row lacks the tag of its plant',
    file: 'domain/plant.ts',
    from: `({ owner, id, name, tag });`,
    to: `({ owner, id, name, tag: undefined });`,
  },
  {
    what: 'an append that failed counts as not done',
    file: 'log/commit/appender.ts',
    from: `        if (!this.#follower.replaced.aborted) this.#onFault(error);`,
    to: `        if (sends > 0) return { landed, certain: true };`,
  },
  {
    what: 'whatever stands at the position counts as the own event',
    file: 'log/commit/appender.ts',
    from: `return Buffer.compare(held.hash, hash) === 0;`,
    to: `return held.hash.length === hash.length;`,
  },
  {
    what: 'all events of an append count as landed when the first ones did',
    file: 'log/commit/appender.ts',
    from: `landed += await this.#send(events.slice(landed));`,
    to: `landed = (await this.#send(events.slice(landed))) > 0 ? events.length : landed;`,
  },
  {
    what: 'the writer ignores onlyAfter',
    file: 'log/forward/receiver.ts',
    from: `onlyAfter: Number(afterPosition) }`,
    to: `onlyAfter: Number.MAX_SAFE_INTEGER }`,
  },
  {
    what: 'a forwarded command gets another event id',
    file: 'log/commit/committer.ts',
    from: `eventId: terms?.eventId ?? randomUUID(),`,
    to: `eventId: randomUUID(),`,
  },
  {
    what: 'a command that was taken back is not in doubt',
    file: 'log/forward/forwarder.ts',
    from: `this.#commit(forwarded, doubt);`,
    to: `this.#commit(forwarded);`,
  },
  {
    what: 'an event of a command in doubt is not noticed',
    file: 'log/forward/forwarder.ts',
    from: `      forwarded.landed = event;
      forwarded.resolve(event);`,
    to: ``,
  },
  {
    what: 'an earlier event at the head answers a command in doubt',
    file: 'log/commit/committer.ts',
    from: `if (!this.#isInDoubt(waiting)) this.#answer(waiting, outcome);`,
    to: `if (!(outcome instanceof PlantStoreError && this.#isInDoubt(waiting))) this.#answer(waiting, outcome);`,
  },
  {
    what: 'an event in the log does not answer its command',
    file: 'log/commit/committer.ts',
    from: `? RETURNED : doubt?.landed();`,
    to: `? RETURNED : undefined;`,
  },
  {
    what: 'a refusal is given without a look at the end of the log',
    file: 'log/commit/committer.ts',
    from: `synced ? ALL_EVENTS : 0`,
    to: `ALL_EVENTS`,
  },
  {
    what: 'a refusal needs no append before it',
    file: 'log/commit/plan.ts',
    from: `needs: Math.max(events.length, 1),`,
    to: `needs: 0,`,
  },
  {
    what: 'appends of other instances are not noticed',
    file: 'log/commit/own-appends.ts',
    from: `if (head !== this.#ownEnd) this.#othersUpTo = head;`,
    to: ``,
  },
  {
    what: 'commands of a batch do not see the ones before them',
    file: 'log/commit/plan.ts',
    from: `state.plants.get(id) ?? (!state.isErased && known.isThere(command))`,
    to: `known.isThere(command)`,
  },
  {
    what: 'a key that is used twice in a batch is not noticed',
    file: 'log/commit/plan.ts',
    from: `state.named.get(idempotencyKey) ?? (state.isErased ? undefined : known.eventOf(command))`,
    to: `known.eventOf(command)`,
  },
  {
    what: 'keys of events in the tail are not looked for there',
    file: 'log/commit/states.ts',
    from: `memtable.findByIdempotencyKey(key) ?? (memtable.hasEnded(command.owner) ? undefined : events.get(key))`,
    to: `memtable.hasEnded(command.owner) ? undefined : events.get(key)`,
  },
  {
    what: 'the time of an event may be before that of its predecessor',
    file: 'log/event/chain.ts',
    from: `const time = Math.max(clock, head.time);`,
    to: `const time = clock;`,
  },
  {
    what: 'rows are read without a pin',
    file: 'log/commit/states.ts',
    from: `    return this.#follower.tail.pinned(
      (base) => this.#read(commands, base),
      ([rows, events]) => decide(this.#stateOf(rows, events)),
    );`,
    to: `    const { base } = this.#follower.tail;
    return this.#read(commands, base).then(([rows, events]) => decide(this.#stateOf(rows, events)));`,
  },
  {
    what: 'the tail forgets what is pinned',
    file: 'log/tail/tail.ts',
    from: `for (const pinned of this.#pins.keys()) base = Math.min(base, pinned);`,
    to: ``,
  },
  {
    what: 'known plants keep what is deleted',
    file: 'log/commit/known-plants.ts',
    from: `else known.ids.delete(compact(event.plantId));`,
    to: ``,
  },
  {
    what: 'known plants are learned without the tail',
    file: 'log/commit/known-plants.ts',
    from: `for (const { id, state } of this.#follower.tail.memtable.ownedBy(owner, undefined))`,
    to: `for (const { id, state } of this.#follower.tail.memtable.ownedBy(owner, undefined).slice(1))`,
  },
  {
    what: 'a caller shares a look at the log that began before its call',
    file: 'time/share-calls.ts',
    from: `    waiting ??= (running`,
    to: `    if (running !== undefined) return running as Promise<T>;
    waiting ??= (running`,
  },
  {
    what: 'a look at the end of the log does not read up to it',
    file: 'log/tail/follower.ts',
    from: `await this.reach(head.position);`,
    to: ``,
  },
  {
    what: 'a list does not look at the end of the log',
    file: 'log/view/lists.ts',
    from: `      await this.#follower.sync();
      // After`,
    to: `      // After`,
  },
  {
    what: 'a list does not pin the tail',
    file: 'log/view/lists.ts',
    from: `    const list = this.#follower.tail.pinned(
      (base) => this.#firstRows(query, base),
      (`,
    to: `    const unpinned = async (read: (base: number) => Promise<Page<PlantRow>>, use: (page: Page<PlantRow>) => ShortList | undefined) =>
      use(await read(this.#follower.tail.base));
    const list = unpinned(
      (base) => this.#firstRows(query, base),
      (`,
  },
  {
    what: 'the tail does not reach the checkpoint of a list',
    file: 'log/view/lists.ts',
    from: `const { rows, whole } = await this.#follower.reachCheckpoint(read, base);`,
    to: `const { rows, whole } = read;`,
  },
  {
    what: 'remembered lists do not hear of events',
    file: 'log/view/lists.ts',
    from: `follower.tail.onExtended((news) => cache.extended(news));`,
    to: ``,
  },
  {
    what: 'a remembered list is brought up to the head by a tail that begins later',
    file: 'log/view/lists.ts',
    from: `if (earlier === undefined || earlier.exactTo < this.#follower.tail.base) return undefined;`,
    to: `if (earlier === undefined) return undefined;`,
  },
  {
    what: 'a step of the projector that was refused counts as done',
    file: 'log/view/projector.ts',
    from: `if (isDone) {`,
    to: `if (isDone !== undefined) {`,
  },
  {
    what: 'the projector adds rows that its step has deleted',
    file: 'log/view/projector.ts',
    from: `    else inserts.delete(key);`,
    to: ``,
  },
  {
    what: 'a watch gets events that its state has already',
    file: 'plants/watch/watch.ts',
    from: `    const position = Math.max(list.position, known);
    this.#skipTo(position);`,
    to: `    const position = Math.max(list.position, known);`,
  },
  {
    what: 'a reader goes on from memory that does not reach back to it',
    file: 'log/tail/tail.ts',
    from: `return position > this.#outdatedTo && this.#reaches(position) ? this.after(position) : undefined;`,
    to: `return position > this.#head.position ? undefined : this.after(Math.max(position, this.#first - 1));`,
  },
  {
    what: 'a checkpoint is signed of events that no look at the log has shown',
    file: 'transparency/checkpoints.ts',
    from: `const { position: size } = await head();`,
    to: `const size = (await head()).position + 1;`,
  },
  {
    what: 'a checkpoint is served for ever',
    file: 'transparency/checkpoints.ts',
    from: `this.#tried.began <= oldest`,
    to: `!Number.isFinite(this.#tried.began)`,
  },
  {
    what: 'the publisher goes on after events that it could not publish',
    file: 'publisher/publisher.ts',
    from: `await session.publish(events.map((event) => erasures.get(event.position) ?? asErased(event, unfinished)));`,
    to: `await session.publish(events.map((event) => erasures.get(event.position) ?? asErased(event, unfinished))).catch(() => {});`,
  },
  {
    what: 'the publisher begins one event later than the topic ends',
    file: 'publisher/publisher.ts',
    from: `nextEvents(this.#store, head.position, this.#enough)`,
    to: `nextEvents(this.#store, head.position + (head.position > 0 ? 1 : 0), this.#enough)`,
  },
  {
    what: 'the publisher goes on after an event that is another one in the log',
    file: 'publisher/publisher.ts',
    from: `if (Buffer.from(event.hash).toString('hex') !== hash)`,
    to: `if (hash === '-')`,
  },
  {
    what: 'an erasure counts as published before its event is',
    file: 'publisher/publisher.ts',
    from: `!erases.isPublished && position <= published)`,
    to: `!erases.isPublished && position <= published + 1_000)`,
  },
  {
    what: 'an erasure by somebody who does not publish does not wait for the topic',
    file: 'log/erasure/finisher.ts',
    from: `this.#publishes ||= await this.#store.wasLeased(PUBLISHER_LEASE);`,
    to: ``,
  },
  {
    what: 'contents are removed before the read model has their events',
    file: 'log/erasure/finisher.ts',
    from: `each.position <= checkpoint && !`,
    to: `!`,
  },
  {
    what: 'a repair leaves the read model where it stood',
    file: 'audit/repair.ts',
    from: `const end = await project(store, { changes: fittingChanges });`,
    to: `const end = log.position;`,
  },
  {
    what: 'a repair takes it that every event fits the rows that it has made right',
    file: 'audit/repair.ts',
    from: `{ ...changes, deletes: [...deletes.values()] }`,
    to: `changes`,
  },
  {
    what: 'an instance does not hear that rows were repaired',
    file: 'log/tail/follower.ts',
    from: `    this.tail.outdateRows();
  }`,
    to: `  }`,
  },
  {
    what: 'the nodes of a step that was refused are not made again',
    file: 'log/view/projector.ts',
    from: `if (this.#nodes?.position !== from) `,
    to: `if (this.#nodes === undefined) `,
  },
  {
    what: 'a log that does not extend what was signed is signed',
    file: 'transparency/checkpoints.ts',
    from: `if (last !== undefined) await proveConsistent(tree, next, last);`,
    to: ``,
  },
  {
    what: 'a checkpoint is served with one cosignature too few',
    file: 'transparency/cosigned-checkpoints.ts',
    from: `if (cosignatures.length >= this.#options.quorum) {`,
    to: `if (cosignatures.length >= Math.max(this.#options.quorum - 1, 1)) {`,
  },
  {
    what: 'a late cosignature makes the served checkpoint smaller',
    file: 'transparency/cosigned-checkpoints.ts',
    from: `if (this.#cosigned !== undefined && checkpoint.size < this.#cosigned.size) return;`,
    to: ``,
  },
  {
    what: 'a witness that failed is never asked again',
    file: 'transparency/cosigned-checkpoints.ts',
    from: `asked.notBefore = monotonic() + asked.backoff.next();`,
    to: ``,
  },
  {
    what: 'a request to a witness has no time limit',
    file: 'transparency/witness-client.ts',
    from: `AbortSignal.any([signal, late.signal])`,
    to: `signal`,
  },
  {
    what: 'a witness cosigns what does not extend what it cosigned',
    file: 'witness/witness.ts',
    from: `attempt(() => checkTree(proof, size, root, older, last.root))`,
    to: `attempt(() => {})`,
  },
  {
    what: 'rows of an owner who was erased by an event of the tail count',
    file: 'log/commit/states.ts',
    from: `return memtable.knows(plant) ? memtable.stateOf(plant) !== undefined : rows.get(command)!;`,
    to: `return memtable.stateOf(plant) !== undefined || rows.get(command)!;`,
  },
  {
    what: 'an event whose content is gone goes into the tail',
    file: 'log/tail/follower.ts',
    from: `const end = news.findIndex(isOfErasure);`,
    to: `const end = -1 as number;`,
  },
  {
    what: 'rows of an owner who was erased by an event of the tail are listed',
    file: 'log/view/lists.ts',
    from: `const hasEnded = this.#follower.tail.memtable.hasEnded(owner);`,
    to: `const hasEnded = false;`,
  },
  {
    what: 'lists from before a restart of the tail are answered',
    file: 'log/view/lists.ts',
    from: `follower.tail.onRowsOutdated(() => cache.clear());`,
    to: ``,
  },
  {
    what: 'rows from before a restart of the tail are used',
    file: 'log/tail/tail.ts',
    from: `if (this.#pins === pins) return use(found);`,
    to: `return use(found);`,
  },
  {
    what: 'a watch does not hear of an erasure',
    file: 'plants/watch/watches.ts',
    from: `if (event === undefined) channel.erase(position);`,
    to: `if (event === undefined) continue;`,
  },
  {
    what: 'watches go on across a restart of the tail',
    file: 'plants/watch/watches.ts',
    from: `log.onRowsOutdated(() => this.#end(OUTDATED));`,
    to: ``,
  },
  {
    what: 'an erasure counts the events of an earlier life',
    file: 'log/tail/tail.ts',
    from: `if (events.some(({ erases }) => erases?.owner === owner)) return undefined;`,
    to: ``,
  },
  {
    what: "an erasure removes contents of the owner's next life",
    file: 'log/erasure/finisher.ts',
    from: `this.#store.eraseContents(erases.owner, position)`,
    to: `this.#store.eraseContents(erases.owner, position + 1_000)`,
  },
  {
    what: 'the projector passes an erasure and leaves the rows of its owner',
    file: 'log/view/projector.ts',
    from: `erased: events[0]?.erases?.owner };`,
    to: `};`,
  },
  {
    what: 'a repair does not notice an erasure',
    file: 'audit/repair.ts',
    from: `new Fold({ shown: view.take })`,
    to: `new Fold()`,
  },
  {
    what: 'an export ends before the erasure of what it has shown',
    file: 'audit/steady.ts',
    from: `to = Math.max(to, erasedBy);`,
    to: `to = Math.max(to, erasedBy && to);`,
  },
  {
    what: 'an erasure that begins and ends while events of the owner are read is not noticed',
    file: 'audit/steady.ts',
    from: `if (isGoingOn || isOver)`,
    to: `if (isGoingOn)`,
  },
  {
    what: 'a log is closed before the commands are answered that it has taken',
    file: 'log/commit/committer.ts',
    from: `    if (this.#pending === 0) return;
`,
    to: `    if (this.#pending >= 0) return;
`,
  },
  {
    what: 'a repeated call with the key of an erasure erases once more',
    file: 'log/erasure/eraser.ts',
    from: `Buffer.compare(logged.event.subject, subject) === 0) return logged;`,
    to: `Buffer.compare(logged.event.subject, subject) > 1) return logged;`,
  },
  {
    what: 'a reader of the log skips what is left of a batch when the tail has moved on',
    file: 'log/tail/read.ts',
    from: `if (position < tail.readableAfter) {`,
    to: `if (position < tail.readableAfter - 3) {`,
  },
  {
    what: 'a reader of the log gets from memory what was erased while the instance was frozen',
    file: 'log/tail/read.ts',
    from: `if (monotonic() >= follower.checkedAt + GENERATION_LIMIT) await freshAnswer(GENERATION_LIMIT, follower.sync);`,
    to: ``,
  },
  {
    what: 'an instance says for good that its store cannot be reached',
    file: 'log/tail/follower.ts',
    from: `if (isReachable !== true) onChange(undefined);`,
    to: `if (isReachable === undefined) onChange(undefined);`,
  },
  {
    what: 'a refused append counts as not done after one of which nothing is known',
    file: 'log/commit/appender.ts',
    from: `error instanceof RefusedAppendError && sends === 1`,
    to: `error instanceof RefusedAppendError`,
  },
];
