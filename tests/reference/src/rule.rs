//! What may happen to a queue: each row of the table "States", each rule of the control item,
//! and each way in which they refuse.

/// Names each rule once, with its row.
macro_rules! rules {
    ($($rule:ident: $row:literal;)*) => {
        /// Why an operation was answered as it was.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Rule {
            $(#[doc = $row] $rule,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$rule),*];

            /// The rule in words.
            #[must_use]
            pub fn row(self) -> &'static str {
                match self {
                    $(Self::$rule => $row,)*
                }
            }
        }
    };
}

rules! {
    Create: "create: no task -> PENDING";
    CreateRepeated: "create: our own create token stands there, so it was our put";
    CreateDuplicate: "create: refused, the id is another's";
    CreateIsAKey: "create: refused, the id is a key";

    KeyFirst: "key: no task -> PENDING";
    KeyWaiting: "key: PENDING -> PENDING, the older state is superseded";
    KeyExpired: "key: PENDING -> PENDING, the older state had expired, and is shed";
    KeySettled: "key: SUCCESS or FAILURE -> PENDING";
    KeyOvertakes: "key: TAKEN -> TAKEN, the newer state waits for the end of the run";
    KeyOvertakesOvertaken: "key: TAKEN -> TAKEN, the state that waited for the end is superseded";
    KeyRepeated: "key: the item has our own create token, so it was our put";
    KeyDuplicate: "key: refused, this very state is there";
    KeyOutdated: "key: refused, a newer state is there";
    KeyNotAKey: "key: refused, a task without a key is there";
    KeyOtherOrder: "key: refused, one of the two has a sequence and the other has none";

    Foreign: "another's conditional put: no task -> PENDING";
    ForeignDuplicate: "another's conditional put: refused, the id is there";

    Waiting: "index: what is PENDING";
    WaitingExpired: "index: what is PENDING, without what expired";
    WaitingBound: "index: what is PENDING and not older than the bound";
    Settled: "index: what is SUCCESS or FAILURE";
    Leases: "index: what is TAKEN, with its leases";

    Take: "take: PENDING -> TAKEN, its deadline kept";
    TakeWithoutTtl: "take: PENDING -> TAKEN, the default deadline for a task without one";
    TakeMilliseconds: "take: PENDING -> TAKEN, a deadline in milliseconds corrected";
    TakeRepeated: "take: our own token stands there, so it was our take";
    TakeGone: "take: lost, no such task";
    TakeNotPending: "take: lost, another was faster";
    TakeSpent: "take: lost, the lease of this very call was ended";
    TakeTooEarly: "take: lost, its notBefore has not passed";
    TakeExpired: "take: lost, it expired";
    TakeTtlChanged: "take: lost, the deadline is of another kind than the index showed";
    TakeMalformed: "take: rejected, the index shows a deadline that is no number";

    SettleSuccess: "settle: TAKEN -> SUCCESS by the lease's token";
    SettleFailure: "settle: TAKEN -> FAILURE by the lease's token";
    SettleRepeated: "settle: our token and our target stand there, so it was our settlement";
    SettleOvertaken: "settle: TAKEN -> PENDING by the lease's token, a newer state came";
    SettleOvertakenRepeated: "settle: our token and PENDING stand on a key, so its run was ended by us";
    SettleGone: "settle: lost, no such task";
    SettleNotTaken: "settle: lost, the task is not TAKEN";
    SettleOtherLease: "settle: lost, the lease is another's";

    GiveBack: "give back: TAKEN -> PENDING by the lease's token, the attempt counts";
    GiveBackFree: "give back: TAKEN -> PENDING by the lease's token, the attempt does not count";
    GiveBackRepeated: "give back: our token and PENDING stand there, so it was our give-back";
    GiveBackOvertaken: "give back: TAKEN -> PENDING by the lease's token, a newer state came";
    GiveBackGone: "give back: lost, no such task";
    GiveBackNotTaken: "give back: lost, the task is not TAKEN";
    GiveBackOtherLease: "give back: lost, the lease is another's";

    ReclaimReturn: "sweep: TAKEN -> PENDING, the lease ran out";
    ReclaimFail: "sweep: TAKEN -> FAILURE, the lease of the last attempt ran out and it ran alone";
    ReclaimOvertaken: "sweep: TAKEN -> PENDING, the lease ran out and a newer state came";
    ReclaimFailOvertaken: "sweep: no FAILURE, since a newer state came";
    ReclaimGone: "sweep: lost, no such task";
    ReclaimNotTaken: "sweep: lost, the task is not TAKEN";
    ReclaimOtherLease: "sweep: lost, the lease is another than was seen";
    ReclaimTooEarly: "sweep: lost, the lease is live";
    ReclaimInCompany: "sweep: lost, the task did not run alone, so it may be a killer's neighbour";

    Quarantine: "quarantine: PENDING -> FAILURE";
    QuarantineGone: "quarantine: lost, no such task";
    QuarantineNotPending: "quarantine: lost, the task is not PENDING";
    QuarantineChanged: "quarantine: lost, another deadline stands there than was seen";

    AdoptMissing: "adopt: a task without a deadline gets one";
    AdoptMilliseconds: "adopt: a deadline in milliseconds is corrected";
    AdoptChanged: "adopt: lost, a deadline of another kind stands there than was seen";
    AdoptNotPending: "adopt: lost, the task is not PENDING or gone";
    AdoptNothing: "adopt: lost, what was seen needs no adoption";

    RedriveFirst: "redrive: FAILURE -> PENDING, attempts from 0; the bound is its age";
    RedriveBeside: "redrive: FAILURE -> PENDING, attempts from 0; the bound covers those before it";
    RedriveGone: "redrive: refused, no such task";
    RedriveNotFailure: "redrive: refused, the task is not FAILURE";

    Cancel: "cancel: PENDING -> gone";
    CancelGone: "cancel: refused, no such task";
    CancelNotPending: "cancel: refused, the task is not PENDING";

    Request: "request: one more wake-up";
    Look: "control: as it is";
    Mark: "mark: a notification is on its way";
    MarkAgain: "mark: its owner may publish again";
    MarkOther: "mark: lost, another's notification is on its way";
    MarkHeld: "mark: lost, somebody processes";

    Acquire: "acquire: the lease was free";
    AcquireRanOut: "acquire: another's lease ran out";
    AcquireAgain: "acquire: the lease was ours";
    AcquireHeld: "acquire: another's lease is live";
    AcquirePaused: "acquire: the queue is paused";

    Renew: "renew: the lease is ours";
    RenewLost: "renew: lost, the lease is another's or nobody's";

    Release: "release: the lease is ours";
    ReleaseUnrequested: "release: the lease is ours and nothing was requested since";
    ReleaseRequested: "release: refused, a wake-up was requested since";
    ReleaseNotOurs: "release: refused, the lease is another's or nobody's";

    Pause: "pause: nobody processes";
    PauseBusy: "pause: nobody processes, since the downstream is busy";
    PauseShorter: "pause: lost, a longer one stands";
    Resume: "resume: the pause is over";
}
