/** A small change that weakens the protocol. */
export interface Mutant {
  readonly what: string;
  /** Below src/. */
  readonly file: string;
  /** A text that the file has once, and what takes its place. */
  readonly from: string;
  readonly to: string;
  /** Why the simulation does not find it. Undefined: it does. */
  readonly missed?: string;
}

/** The list of mutants. */
export const MUTANTS: readonly Mutant[] = [
  {
    what: 'an append that failed counts as not done',
    file: 'log/commit/appender.ts',
    from: `        if (!this.#follower.changed.aborted) this.#onFault(error);`,
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
    what: 'the log is not looked at before an append',
    file: 'log/commit/appender.ts',
    from: `        await this.#confirm();`,
    to: ``,
    missed:
      'The look guards against an older log that is restored under a running instance: what is wrong then is known.',
  },
  {
    what: 'after an append without an answer the log is not read',
    file: 'log/commit/appender.ts',
    from: `await this.#follower.sync().catch(this.#onFault);`,
    to: ``,
    missed: 'The next attempt looks at the log before it sends anything.',
  },
  {
    what: 'a batch is decided anew although its append may still land',
    file: 'log/commit/committer.ts',
    from: `if (!certain) throw outcomeUnknown();`,
    to: ``,
    missed:
      'Not found yet: an append must land without an answer, and the database be out of reach until the deadline.',
  },
  {
    what: 'the writer ignores onlyAfter',
    file: 'log/forward/taker.ts',
    from: `onlyAfter: after }`,
    to: `onlyAfter: Number.MAX_SAFE_INTEGER }`,
  },
  {
    what: 'a command that was taken back is not in doubt',
    file: 'log/forward/forwarder.ts',
    from: `this.#commit(forwarded, doubt);`,
    to: `this.#commit(forwarded);`,
  },
  {
    what: 'a command that was taken back gets another event id',
    file: 'log/forward/forwarder.ts',
    from: `.submit(command, cancellation, { eventId, deadline, doubt })`,
    to: `.submit(command, cancellation, { eventId: randomUUID(), deadline, doubt })`,
    missed: 'The event that the writer appended is noticed by its id, and answers the command first.',
  },
  {
    what: 'doubt ends with any earlier append',
    file: 'log/forward/forwarder.ts',
    from: `const doubt = this.#after;`,
    to: `const doubt = -2;`,
    missed: 'Not found yet: the writer must get the command late, and have changed the plant meanwhile.',
  },
  {
    what: 'an event of a command in doubt is not noticed',
    file: 'log/forward/forwarder.ts',
    from: `      forwarded.landed = event;
      forwarded.resolve(event);`,
    to: ``,
  },
  {
    what: 'a command in doubt is decided like any other',
    file: 'log/commit/committer.ts',
    from: `return doubt !== undefined && !this.#appends.ownAfter(doubt.after);`,
    to: `return doubt === null;`,
    missed: 'Not found yet: the writer must get the command late, and have changed the plant meanwhile.',
  },
  {
    what: 'an earlier event at the head answers a command in doubt',
    file: 'log/commit/committer.ts',
    from: `if (!this.#isInDoubt(waiting)) this.#answer(waiting, outcome);`,
    to: `if (needs === 0 || !this.#isInDoubt(waiting)) this.#answer(waiting, outcome);`,
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
    from: `synced ? Number.POSITIVE_INFINITY : 0`,
    to: `Number.POSITIVE_INFINITY`,
  },
  {
    what: 'a refusal needs no append before it',
    file: 'log/commit/plan.ts',
    from: `needs: Math.max(events.length, 1),`,
    to: `needs: 0,`,
  },
  {
    what: 'a retry is answered although the owner may have been erased since',
    file: 'log/commit/plan.ts',
    from: `    return unchanged(refuseReuse(command, plantEventOf(earlier)!) ?? { ...earlier, replayed: true });`,
    to: `    const outcome = refuseReuse(command, plantEventOf(earlier)!) ?? { ...earlier, replayed: true };
    return { ...unchanged(outcome), ...('replayed' in outcome && { needs: earlier.position - head.position }) };`,
    missed: 'Some 1 of 2,000 histories: an instance must miss a whole erasure. test/store/erasure.ts finds it.',
  },
  {
    what: 'parked commands do not leave after an append',
    file: 'log/commit/committer.ts',
    from: `if (landed > 0) this.#parking.release();`,
    to: ``,
    missed: 'They leave at their deadline, and their callers hear that the outcome is unknown, which is true.',
  },
  {
    what: 'appends of other instances are not noticed',
    file: 'log/commit/doubts.ts',
    from: `if (head !== this.#ownHead) this.#foreignUpTo = head;`,
    to: ``,
  },
  {
    what: 'an append that did not land ends doubts',
    file: 'log/commit/doubts.ts',
    from: `if (landed > 0) this.#landedUpTo = this.#ownHead;`,
    to: `this.#landedUpTo = this.#ownHead + 1;`,
    missed:
      'The writer must get the command late, and have changed the plant meanwhile. test/unit/own-appends.test.ts finds it.',
  },
  {
    what: 'commands of a batch do not see the ones before them',
    file: 'log/commit/plan.ts',
    from: `left.plants.get(key) ?? (!left.isErased && known.isThere(key))`,
    to: `known.isThere(key)`,
  },
  {
    what: 'a key that is used twice in a batch is not noticed',
    file: 'log/commit/plan.ts',
    from: `left.named.get(idempotency) ?? (left.isErased ? undefined : known.eventOf(idempotency, command.owner))`,
    to: `known.eventOf(idempotency, command.owner)`,
  },
  {
    what: 'keys of events in the tail are not looked for there',
    file: 'log/commit/states.ts',
    from: `tail.findByIdempotencyKey(idempotency) ?? (tail.hasEnded(owner) ? undefined : events.get(idempotency))`,
    to: `tail.hasEnded(owner) ? undefined : events.get(idempotency)`,
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
    from: `      const plants = commands.flatMap(plantOf);`,
    to: `      const plants = commands.flatMap(plantOf);
      pin.release();`,
  },
  {
    what: 'the tail does not reach the checkpoint of rows that were read',
    file: 'log/commit/states.ts',
    from: `await this.#follower.reachCheckpoint(standing, pin.base);`,
    to: ``,
    missed: 'Rows newer than the tail lead to a position that is taken. Then the tail has their events.',
  },
  {
    what: 'the tail forgets what is pinned',
    file: 'log/tail/tail.ts',
    from: `for (const pinned of this.#pins.keys()) base = Math.min(base, pinned);`,
    to: ``,
  },
  {
    what: 'known keys keep what is deleted',
    file: 'log/commit/known-keys.ts',
    from: `else ids.delete(compact(event.plantId));`,
    to: ``,
  },
  {
    what: 'known keys are learned without the tail',
    file: 'log/commit/known-keys.ts',
    from: `for (const { id, state } of this.#follower.tail.ownedBy(owner, undefined))`,
    to: `for (const { id, state } of this.#follower.tail.ownedBy(owner, undefined).slice(1))`,
  },
  {
    what: 'memory of rows outlives a rebuild',
    file: 'log/tail/follower.ts',
    from: `if (known !== undefined && generation !== known) this.tail.outdateRows();`,
    to: ``,
    missed: 'A rebuild changes rows only where they were damaged, which no history does.',
  },
  {
    what: 'a caller shares a look at the log that began before its call',
    file: 'log/tail/share-calls.ts',
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
    from: `await (look === undefined ? this.#follower.sync() : Promise.all([this.#follower.sync(), look]));`,
    to: `await look;`,
  },
  {
    what: 'a list does not pin the tail',
    file: 'log/view/lists.ts',
    from: `    const { owner, after, limit } = query;
    const pin = this.#follower.tail.pin();`,
    to: `    const { owner, after, limit } = query;
    const pin = this.#follower.tail.pin();
    pin.release();`,
  },
  {
    what: 'the tail does not reach the checkpoint of a list',
    file: 'log/view/lists.ts',
    from: `        await this.#follower.reachCheckpoint(standing, pin.base);
        pin.check();
        known.push(...rows);`,
    to: `        pin.check();
        known.push(...rows);`,
  },
  {
    what: 'the tail does not reach the position of a snapshot',
    file: 'log/view/lists.ts',
    from: `await this.#follower.reachCheckpoint({ checkpoint, upTo }, pin.base);`,
    to: ``,
    missed:
      'A list that is too long for memory must be asked for while another instance is ahead by a step of the projector.',
  },
  {
    what: 'remembered lists do not hear of events',
    file: 'log/view/lists.ts',
    from: `follower.tail.onExtended((news) => cache.extended(news));`,
    to: ``,
  },
  {
    what: 'a plant that is deleted behind the limit leaves a remembered list as it is',
    file: 'log/view/list-cache.ts',
    from: `(type === 'PlantAdded' && next !== undefined`,
    to: `(type.length > 0 && next !== undefined`,
    missed: 'Not found yet: the same page must be asked for again after its only follower went.',
  },
  {
    what: 'a remembered list is brought up to the head by a tail that begins later',
    file: 'log/view/lists.ts',
    from: `if (earlier === undefined || earlier.position < this.#follower.tail.base) return undefined;`,
    to: `if (earlier === undefined) return undefined;`,
  },
  {
    what: 'a plant is as in its row, whatever came since',
    file: 'log/view/lists.ts',
    from: `return this.#follower.tail.knows(key) ? this.#follower.tail.stateOf(key) : row;`,
    to: `return row ?? this.#follower.tail.stateOf(key);`,
    missed: 'What the row says was so when the call began.',
  },
  {
    what: 'a step of the projector that was refused counts as done',
    file: 'log/view/projector.ts',
    from: `if (isRemoved && (await this.#follower.store.advance(from, to, changesOf(events), this.#nodes.add(events)))) {`,
    to: `if ((await this.#follower.store.advance(from, to, changesOf(events), this.#nodes.add(events))) || to > from) {`,
  },
  {
    what: 'the projector deletes rows that its step has added',
    file: 'log/view/projector.ts',
    from: `event.type === 'PlantDeleted' && !last.has(key)`,
    to: `event.type === 'PlantDeleted'`,
  },
  {
    what: 'an instance writes although its lease is over',
    file: 'log/forward/forwarding.ts',
    from: `if (!(await lease.renew())) break;`,
    to: `await lease.renew();`,
    missed: 'A lease is for speed. Compare and append is what keeps two writers apart.',
  },
  {
    what: 'a lease never ends for its holder',
    file: 'time/lease.ts',
    from: `return monotonic() < this.#until - DURATION / 2 || this.renew();`,
    to: `return this.#until > 0 || this.renew();`,
    missed: 'A lease is for speed. Each step of the read model compares the checkpoint.',
  },
  {
    what: 'a watch gets events that its state has already',
    file: 'plants/watch/watch.ts',
    from: `    const position = Math.max(list.position, known);
    this.#passOver(position);`,
    to: `    const position = Math.max(list.position, known);`,
  },
  {
    what: 'a watch looks at what it knows after it has read its state',
    file: 'plants/watch/watch.ts',
    from: `    const { known } = this.#keeper;
    const list = await this.#keeper.state(owner);`,
    to: `    const list = await this.#keeper.state(owner);
    await turn();
    const { known } = this.#keeper;`,
    missed: 'The event must come within one turn of the event loop.',
  },
  {
    what: 'a reader goes on from memory that does not reach back to it',
    file: 'log/log.ts',
    from: `return after + 1 < first || after > head.position ? undefined : this.#follower.tail.after(after);`,
    to: `return after > head.position ? undefined : this.#follower.tail.after(Math.max(after, first - 1));`,
  },
  {
    what: 'a reader goes on at an instance that is behind',
    file: 'plants/watch/watches.ts',
    from: `    await this.#log.head();
    let steps`,
    to: `    let steps`,
    missed: 'The reader gets a reset and the state, which is right, and costs more.',
  },
  {
    what: 'news that come during a delivery are not delivered',
    file: 'plants/watch/rounds.ts',
    from: `if (this.#due.has(channel)) this.#again.add(channel);`,
    to: `if (this.#due.has(channel)) return;`,
    missed: 'A channel with 16 readers or fewer is served in one turn, and no history has more.',
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
    from: `this.#last === undefined || this.#lastBegan <= oldest`,
    to: `this.#last === undefined`,
  },
  {
    what: 'the publisher goes on after events that it could not publish',
    file: 'publisher/publisher.ts',
    from: `await session.publish(events);`,
    to: `await session.publish(events).catch(() => {});`,
  },
  {
    what: 'the publisher begins one event later than the topic ends',
    file: 'publisher/publisher.ts',
    from: `nextEvents(this.#store, head.position)`,
    to: `nextEvents(this.#store, head.position + (head.position > 0 ? 1 : 0))`,
  },
  {
    what: 'an erasure counts as published before its event is',
    file: 'publisher/publisher.ts',
    from: `!erases.isPublished && position <= published)`,
    to: `!erases.isPublished && position <= published + 1_000)`,
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
    from: `const end = await project(store);`,
    to: `const end = log.position;`,
  },
  {
    what: 'the nodes of a step that was refused are not made again',
    file: 'log/view/projector.ts',
    from: `if (this.#nodes?.position !== from) `,
    to: `if (this.#nodes === undefined) `,
  },
  {
    what: 'events from before an erasure are kept for readers that were away',
    file: 'log/tail/tail.ts',
    from: `this.#keptBytes > this.#recentBytes || this.first <= this.#erased;`,
    to: `this.#keptBytes > this.#recentBytes;`,
    missed: 'What is in memory and nobody reads is not judged; test/unit/tail.test.ts finds it.',
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
    what: 'an instance does not notice that the log has lost events',
    file: 'log/tail/follower.ts',
    from: `      verifyKept(known, head);\n`,
    to: ``,
  },
  {
    what: 'audit verify does not compare the read model',
    file: 'audit/checks/read-model.ts',
    from: `return await firstDifference(`,
    to: `await firstDifference(`,
  },
  {
    what: 'audit verify does not compare the nodes of the tree',
    file: 'audit/checks/log.ts',
    from: `sameHash(stored[at]!, hash)`,
    to: `hash.length > 0`,
  },
  {
    what: 'audit verify does not miss the last events',
    file: 'audit/checks/log.ts',
    from: `if (last === end) return`,
    to: `if (last <= end) return`,
  },
  {
    what: 'audit verify does not compare contents with their commitments',
    file: 'audit/checks/contents.ts',
    from: `for (const event of events) verifyContent(event);`,
    to: ``,
  },
  {
    what: 'an erasure that goes on makes audit verify say no',
    file: 'audit/verify.ts',
    from: `if (isOfFold(answer)) answers[index]`,
    to: `if (answer === undefined) answers[index]`,
    missed: 'A verification that meets an erasure begins again.',
  },
  {
    what: 'rows of an owner who was erased by an event of the tail count',
    file: 'log/commit/states.ts',
    from: `return tail.knows(row) ? tail.stateOf(row) !== undefined : row.isThere;`,
    to: `return tail.stateOf(row) !== undefined || row.isThere;`,
  },
  {
    what: 'an event whose content is gone goes into the tail',
    file: 'log/tail/follower.ts',
    from: `isWhole = !isOfErasure(event);`,
    to: `isWhole = true;`,
  },
  {
    what: 'rows of an owner who was erased by an event of the tail are listed',
    file: 'log/view/lists.ts',
    from: `const hasEnded = this.#follower.tail.hasEnded(owner);`,
    to: `const hasEnded = false;`,
  },
  {
    what: 'lists from before a restart of the tail are answered',
    file: 'log/view/lists.ts',
    from: `follower.tail.onRowsOutdated(() => cache.clear());`,
    to: ``,
  },
  {
    what: 'commands are decided on rows from before a restart of the tail',
    file: 'log/commit/states.ts',
    from: `return pin.isCurrent;`,
    to: `return pin.base >= 0;`,
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
    from: `for (const watch of this.#watches) watch.end(RESTARTED);`,
    to: ``,
  },
  {
    what: 'an erasure leaves what the batch before it did',
    file: 'log/commit/plan.ts',
    from: `    left.erase();
`,
    to: `    left.isErased = true;
`,
    missed: 'An erasure and a command of its owner are rarely in one batch; test/unit/plan.test.ts finds it.',
  },
  {
    what: 'an erasure counts the events of an earlier life',
    file: 'log/tail/tail.ts',
    from: `if (events.some(({ erases }) => erases?.owner === owner)) return undefined;`,
    to: ``,
  },
  {
    what: 'an erasure that this instance cannot read yet counts as complete',
    file: 'log/erasure/eraser.ts',
    from: `const isRead = follower.tail.head.position >= position;`,
    to: `const isRead = position > 0;`,
    missed: 'One history in some 2,000 shows it: --seed 713567 --each erase,rebuild,freeze,kill.',
  },
  {
    what: "an erasure removes contents of the owner's next life",
    file: 'log/erasure/finisher.ts',
    from: `this.#store.eraseContents(owner, position)`,
    to: `this.#store.eraseContents(owner, position + 1_000)`,
  },
  {
    what: 'the projector passes an erasure and leaves its rows',
    file: 'log/view/projector.ts',
    from: `if (first?.erases === undefined) return true;`,
    to: `if (first !== undefined) return true;`,
  },
  {
    what: 'a repair does not notice an erasure',
    file: 'audit/repair.ts',
    from: `await this.#fold.apply(this.#view.take(events));`,
    to: `await this.#fold.apply(events);`,
  },
  {
    what: 'an export does not notice an erasure',
    file: 'audit/steady.ts',
    from: `const shown = view.take(events);`,
    to: `const shown = events;`,
    missed: 'Contents must be removed between two reads of an export, which are few here.',
  },
  {
    what: 'an export ends before the erasure of what it has shown',
    file: 'audit/steady.ts',
    from: `to = Math.max(to, erasedBy);`,
    to: `to = Math.max(to, erasedBy && to);`,
  },
  {
    what: 'the tail does not reach the erasure of rows that are gone',
    file: 'log/tail/follower.ts',
    from: `if (upTo > this.tail.head.position) await this.readOn();`,
    to: `if (checkpoint > this.tail.head.position) await this.readOn();`,
    missed:
      'Rows are removed within milliseconds of the event, which other reads bring in; not found in 700 histories.',
  },
];
